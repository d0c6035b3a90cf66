import t from 'tap';
import { BadTable, show } from '../harness/badRequests.ts';
import { event, events, eventText } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { type Asserts, checkProblem } from '../harness/problem.ts';

runInProcess();

const table = await BadTable.open(t, ['--venue', 'venue-1']);

const bad = (fields: Record<string, unknown>) => event({ session_id: 'bad', ...fields });
const badText = (fields: Record<string, string>) => eventText(fields, { session_id: 'bad' });

/** An event (a value, or JSON text), alone and as an array of one, is invalid at these paths and no others. */
async function isInvalid(t: Asserts, sent: object | string, what: string, ...paths: string[]) {
  const text = typeof sent === 'string' ? sent : JSON.stringify(sent);
  const { details } = checkProblem(t, await table.post(text), 400, 'invalid_event', what, ['details']);
  t.strictSame(details?.map(({ path }) => path).sort(), paths.sort(), `${what}: paths`);
  const answer = await table.post(`[${text}]`);
  const batch = checkProblem(t, answer, 400, 'invalid_event', `[${what}]`, ['invalid', 'invalid_total']);
  const id: unknown = JSON.parse(text).event_id;
  const event_id = typeof id === 'string' && id.length <= 512 ? id : null;
  t.strictSame(batch.invalid, [{ index: 0, event_id, issues: details }], `[${what}]: invalid`);
  await table.goesOn(t, what);
}

const NAMES = ['event_id', 'session_id', 'venue_id', 'court_id', 'source'];
const REQUIRED = [...NAMES, 'eot', 'type', 'confidence', 'schema_version', 'payload'];

t.test('a required field that is missing, null or of another type is a fault at its name', async (t) => {
  for (const name of REQUIRED) {
    const others = [
      undefined,
      null,
      true,
      [],
      name === 'confidence' ? '0.5' : 1,
      name === 'payload' ? '{}' : {},
    ];
    for (const value of others) await isInvalid(t, bad({ [name]: value }), `${name} ${show(value)}`, name);
  }
});

t.test('an empty event is rejected with all of its faults', async (t) => {
  await isInvalid(t, {}, 'an empty object', ...REQUIRED);
});

t.test(
  'a name that is empty, too long, or has a control character or a lone surrogate is refused',
  async (t) => {
    const odd = ['\0', '\n', '\u001f', '\u007f', '\u0080', '\u009f', '\ud800', '\udfff', '\udc00\ud800'];
    for (const name of NAMES) {
      const values = ['', 'n'.repeat(257), '\u{1f3be}'.repeat(257), ...odd.map((text) => `a${text}b`)];
      // Any other venue than the box's own is a second fault at the same path.
      const paths = name === 'venue_id' ? [name, name] : [name];
      for (const value of values)
        await isInvalid(t, bad({ [name]: value }), `${name} ${show(value)}`, ...paths);
    }
  },
);

t.test('each bound, one step outside', async (t) => {
  const steps: Record<string, string[]> = {
    confidence: ['-5e-324', '1.0000000000000002', '-1', '2', '1e400', '-1e400'],
    revision: [
      ...['-1', '9007199254740992', '9007199254740993', '1e16', '1e400', '"0"', 'true', '[]', '{}'],
      // A double would round most of these to a valid integer.
      ...[
        '0.5',
        '-0.5',
        '1e-400',
        '-1e-400',
        '2147483647.00000001',
        '9007199254740991.4',
        '9007199254740991.5',
      ],
      ...['1773500966535.00001e-1', `1.${'0'.repeat(400)}1`],
    ],
    schema_version: [
      '"1."',
      '"1.0000"',
      '"1.0.0000"',
      '"1.0.0.0"',
      '"1.0."',
      '"2.0"',
      '"0.9"',
      '"01.0"',
      '"1.x"',
      '"1.0 "',
      '"1.0\\n"',
      '"1.\u0661"',
    ],
    type: ['""', '"ball_bounce"', '"BALL_BOUNCE "', '"BALL"', '"BALL_BOUNCE\\u0000"'],
  };
  for (const [name, texts] of Object.entries(steps)) {
    for (const text of texts) await isInvalid(t, badText({ [name]: text }), `${name} ${text}`, name);
  }
});

t.test('a bounce whose place or verdict is of another type is refused, and 1e400 anywhere', async (t) => {
  const others: Record<string, unknown[]> = {
    x_ft: ['1', true],
    y_ft: [[], {}],
    is_in: [1, 'true'],
  };
  for (const [name, values] of Object.entries(others)) {
    for (const value of values) {
      await isInvalid(t, bad({ payload: { [name]: value } }), `${name} ${show(value)}`, `payload.${name}`);
    }
  }
  for (const name of ['x_ft', 'is_in', 'kmh', 'player_id']) {
    for (const type of ['"BALL_BOUNCE"', '"BALL_SPEED"'])
      await isInvalid(
        t,
        badText({ type, payload: `{"${name}":1e400}` }),
        `${type} ${name}`,
        `payload.${name}`,
      );
  }
  await isInvalid(t, badText({ payload: '{"a":[0,{"b":-1e400}]}' }), 'deep -1e400', 'payload.a.1.b');
  await isInvalid(t, badText({ camera: '1e400' }), 'unknown 1e400', 'camera');
  await isInvalid(
    t,
    badText({ __proto__x: '{"__proto__":1e999}' }),
    '__proto__ 1e999',
    '__proto__x.__proto__',
  );
});

t.test('another venue than that of the box is refused', async (t) => {
  for (const venue_id of ['venue-2', 'VENUE-1', 'venue-1 ', 'venue', 'v\u00e9nue-1']) {
    await isInvalid(t, bad({ venue_id }), venue_id, 'venue_id');
  }
});

// Every other way to be none: eot.test.ts.
t.test('a malformed eot is refused', async (t) => {
  for (const eot of ['2026-03-14T15:09', '2026-02-29T15:09Z', '2026-03-14T15:09Z\n'])
    await isInvalid(t, bad({ eot }), `eot ${show(eot)}`, 'eot');
});

t.test('an answer names index and id of an invalid event, first, in the middle or last', async (t) => {
  for (const index of [0, 2, 4]) {
    const batch: unknown[] = events(5, { session_id: 'bad' });
    batch[index] = bad({ event_id: 'the-bad-one', confidence: 1.2 });
    const answer = await table.post(batch);
    const body = checkProblem(t, answer, 400, 'invalid_event', `at ${index}`, ['invalid', 'invalid_total']);
    const message = 'must be a number from 0 to 1, was 1.2';
    const issues = [{ path: 'confidence', message }];
    t.strictSame(body.invalid, [{ index, event_id: 'the-bad-one', issues }], `at ${index}`);
    t.equal(body.invalid_total, 1);
    await table.goesOn(t, `at ${index}`);
  }
});

t.test('what is no object is an event at fault in an array', async (t) => {
  const answer = await table.post(`[${JSON.stringify(bad({}))},null,7,"x",[],[${JSON.stringify(bad({}))}]]`);
  const body = checkProblem(t, answer, 400, 'invalid_event', 'no objects', ['invalid', 'invalid_total']);
  t.strictSame(
    body.invalid?.map(({ index }) => index),
    [1, 2, 3, 4, 5],
  );
  for (const { issues } of body.invalid ?? []) t.match(issues, [{ path: '', message: /^must be an object/ }]);
  await table.goesOn(t, 'no objects');
});

t.test('an answer lists at most 50 events with 10 faults each, and has the totals', async (t) => {
  const worst = { session_id: 'bad', revision: -1 };
  const single = checkProblem(
    t,
    await table.post({ ...worst, session_id: '' }),
    400,
    'invalid_event',
    'single',
    ['details', 'details_total'],
  );
  t.strictSame([single.details?.length, single.details_total], [10, 11]);
  const all = Array.from({ length: 500 }, () => ({ ...worst, session_id: 7 }));
  const body = checkProblem(t, await table.post(all), 400, 'invalid_event', '500', [
    'invalid',
    'invalid_total',
  ]);
  t.strictSame([body.invalid?.length, body.invalid_total], [50, 500]);
  t.match(body.invalid?.[49], { index: 49, event_id: null, issues_total: 11 });
  t.equal(body.invalid?.[49]?.issues.length, 10);
  await table.goesOn(t, 'the worst batch');
});

t.test('of all this nothing is stored', (t) => table.holdsNothingElse(t));
