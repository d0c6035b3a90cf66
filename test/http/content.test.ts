import t from 'tap';
import { EVENT_TYPES, PAYLOAD_FIELDS } from '../../src/protocol/eventTypes.ts';
import { canonical } from '../harness/arbitraryJson.ts';
import { BadTable, show } from '../harness/badRequests.ts';
import { event, events, eventText } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { type Asserts, checkProblem } from '../harness/problem.ts';

runInProcess();

/** What is rejected for its content, and what is odd but valid and comes back whole. Any JSON: properties.test.ts. */

const table = await BadTable.open(t, ['--venue', 'venue-1']);
const { daemon } = table;

const badText = (fields: Record<string, string>) => eventText(fields, { session_id: 'bad' });
const good = JSON.stringify(event({ session_id: 'bad' }));
const NAMES = ['event_id', 'session_id', 'venue_id', 'court_id', 'source'];
const BALL = '\u{1f3be}';
const texts = (...values: unknown[]) => values.map((value) => JSON.stringify(value));
const words = (line: string) => line.split(' ');
/** No control character, no lone surrogate. */
const ODD = ['\0', '\n', '\u007f', '\u0080', '\u009f', '\ud800', '\udfff', '\udc00\ud800'];

/** What no field may be, as JSON text. */
const INVALID: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    NAMES.filter((name) => name !== 'venue_id').map((name) => [
      name,
      [
        ...texts('', 'n'.repeat(257), BALL.repeat(257), ...ODD.map((text) => `a${text}b`)),
        ...words('null 7 {}'),
      ],
    ]),
  ),
  venue_id: texts('venue-2', 'VENUE-1', 'venue-1 ', null),
  eot: texts('2026-03-14T15:09', '2026-02-29T15:09Z', '2026-03-14T15:09Z\n', '', 7),
  type: texts('', 'ball_bounce', 'BALL_BOUNCE ', 'BALL', null, 1),
  confidence: words('-5e-324 1.0000000000000002 -1 2 1e400 -1e400 "0.5" null true'),
  // A double would round most of these to a valid integer.
  revision: words(
    '-1 9007199254740992 1e16 1e400 "0" true [] 0.5 -0.5 1e-400 2147483647.00000001 9007199254740991.4',
  ),
  schema_version: [
    ...texts('1.', '1.0000', '1.0.0000', '1.0.0.0', '2.0', '01.0', '1.x', '1.0 '),
    '1',
    'null',
  ],
  payload: words('null 7 [] "{}"'),
};

t.test(
  'each bound of each field, one step outside, is a fault at its name, alone and in an array',
  async (t) => {
    const rows = Object.entries(INVALID).flatMap(([name, values]) =>
      values.map((value) => [name, value] as const),
    );
    for (const [name, value] of rows) {
      const text = badText({ [name]: value });
      const what = `${name} ${show(value)}`;
      const answer = await table.post(text);
      const { details } = checkProblem(t, answer, 400, 'invalid_event', what, ['details']);
      t.strictSame(
        details?.map(({ path }) => path),
        [name],
        what,
      );
      const batch = await table.post(`[${good},${text}]`);
      const { invalid } = checkProblem(t, batch, 400, 'invalid_event', what, ['invalid', 'invalid_total']);
      t.match(invalid, [{ index: 1, issues: details }], what);
      await table.goesOn(t, what);
    }
  },
);

/** The faults of one event are at these paths and no others. */
async function isInvalid(t: Asserts, text: string, ...paths: string[]): Promise<void> {
  const { details } = checkProblem(t, await table.post(text), 400, 'invalid_event', text, ['details']);
  t.strictSame(details?.map(({ path }) => path).sort(), paths.sort(), show(text));
}

t.test('an empty event is rejected with all of its faults, and 1e400 at its place', async (t) => {
  await isInvalid(t, '{}', ...NAMES, 'eot', 'type', 'confidence', 'schema_version', 'payload');
  await isInvalid(t, badText({ payload: '{"a":[0,{"b":-1e400}]}' }), 'payload');
  await isInvalid(t, badText({ camera: '1e400' }), 'camera');
  await isInvalid(
    t,
    badText({ payload: '{"x_ft":"1","y_ft":[],"is_in":1}' }),
    ...words('payload.x_ft payload.y_ft payload.is_in'),
  );
});

t.test('an answer lists at most 50 events with 10 faults each, and has the totals', async (t) => {
  const all = Array.from({ length: 500 }, () => ({ session_id: 7, revision: -1 }));
  const answer = await table.post(all);
  const { invalid, invalid_total } = checkProblem(t, answer, 400, 'invalid_event', '500', [
    'invalid',
    'invalid_total',
  ]);
  t.strictSame([invalid?.length, invalid_total], [50, 500]);
  t.match(invalid?.[49], { index: 49, event_id: null, issues_total: 11 });
  t.equal(invalid?.[49]?.issues.length, 10);
  const one = await table.post({ session_id: '', revision: -1 });
  const { details, details_total } = checkProblem(t, one, 400, 'invalid_event', 'one', [
    'details',
    'details_total',
  ]);
  t.strictSame([details?.length, details_total], [10, 11]);
});

t.test('a body that is not JSON, or no object or array, is rejected, and so are 501 events', async (t) => {
  const whole = ['', 'null', good.replaceAll('"', "'"), `${good}\n${good}`, `[${good},]`, `/**/${good}`];
  for (const body of [...whole, badText({ n: '"\0"' }), Buffer.from(good, 'utf16le')])
    await table.isRefused(t, body, 'invalid_json', show(body.toString()));
  const text = Buffer.from(badText({ source: '"café"' }));
  for (let end = 0; end < text.length; end += 40)
    await table.isRefused(t, text.subarray(0, end), 'invalid_json', `${end} bytes`);
  await table.isRefused(
    t,
    JSON.stringify(events(501, { session_id: 'bad' })),
    'too_many_events',
    '501 good ones',
  );
  await table.isRefused(t, `[${'0,'.repeat(500)}0]`, 'too_many_events', '501 zeros');
});

t.test('bytes that are not UTF-8 are rejected', async (t) => {
  const [head, tail] = badText({ n: '"|"' })
    .split('|')
    .map((text) => Buffer.from(text)) as [Buffer, Buffer];
  for (const bytes of words('ff 80 c3 c080 e0809f eda080 edbfbf f4908080 f09f8e fe c328'))
    await table.isRefused(t, Buffer.concat([head, Buffer.from(bytes, 'hex'), tail]), 'invalid_json', bytes);
});

t.test('deep and huge bodies are rejected', async (t) => {
  await table.isRefused(t, '['.repeat(8 * 1024 * 1024), 'invalid_json', '8 MiB of [');
  await table.isRefused(t, '{"a":'.repeat(1_000_000), 'too_deep', 'a million objects');
  const huge = await table.post(' '.repeat(8 * 1024 * 1024 + 1));
  const further = ['limit_bytes', 'size_bytes'];
  const { limit_bytes, size_bytes } = checkProblem(t, huge, 413, 'body_too_large', 'huge', further);
  t.strictSame([limit_bytes, size_bytes], [8_388_608, 8_388_609]);
});

t.test('of an array a fault names the index of its event, and hides no other fault', async (t) => {
  const wrong = badText({ confidence: '1.5' });
  // The event itself is the first level, its payload the second.
  const deep = badText({ payload: `{"a":${'['.repeat(31)}${']'.repeat(31)}}` });
  const nan = badText({ confidence: 'NaN' });
  const notUtf8 = badText({ n: '"\xff"' });
  const invalidOf = async (body: string, code: string) => {
    const answer = await table.post(Buffer.from(body, 'latin1'));
    const { invalid, invalid_total } = checkProblem(t, answer, 400, code);
    t.equal(invalid_total, invalid?.length);
    for (const { event_id } of invalid ?? []) t.ok(event_id && body.includes(event_id), `${event_id}`);
    return invalid?.map(({ index }) => index);
  };
  t.strictSame(await invalidOf(`[${nan},${good},${notUtf8},${wrong},${deep}]`, 'invalid_json'), [0, 2, 3, 4]);
  t.strictSame(await invalidOf(`[${good},${deep},${nan},${good.slice(0, -9)}`, 'invalid_json'), [1, 2, 3]);
  const open = nan.replace('"source":"', '"source":');
  t.strictSame(
    await invalidOf(`[${good},${open},${good},${open},${wrong}]`, 'invalid_json'),
    [1],
    'no index behind a missing quote is certain',
  );
  t.strictSame(await invalidOf(`[${deep},${good},${wrong},${deep}]`, 'too_deep'), [0, 2, 3]);
  for (const between of [`${good} ${good}`, `${good},`, `${good},,${good}`])
    t.equal(await invalidOf(`[${between}]`, 'invalid_json'), undefined, 'between two events it is neither');
  const { invalid } = JSON.parse((await table.post(`[${good},null,7,"x",[],[${good}]]`)).body);
  t.strictSame(
    invalid.map(({ index }: { index: number }) => index),
    [1, 2, 3, 4, 5],
  );
});

t.test('nothing of a rejected request is stored', (t) => table.holdsNothingElse(t));

let sessions = 0;

/** Sends events, each with some fields as JSON text. @returns their lines of the export, compared with what was sent. */
async function comeBack(t: Asserts, ...rows: Record<string, string>[]): Promise<string[]> {
  const session = `odd-${++sessions}`;
  const sent = rows.map((fields, i) =>
    eventText({ eot: `"2026-03-14T15:09:26.${i + 100}Z"`, ...fields }, { session_id: session }),
  );
  const { body } = await table.post(`[${sent}]`);
  t.equal(body, `{"accepted":${sent.length},"duplicates":0}`, show(rows[0]));
  const lines = await daemon.exported(session);
  t.strictSame(lines.map(canonical).sort(), sent.map(canonical).sort(), 'the same values come back');
  return lines;
}

t.test('the bounds themselves are valid', async (t) => {
  const valid: Readonly<Record<string, readonly string[]>> = {
    confidence: words('0 1 0.0 1e0 5e-324 0.9999999999999999'),
    revision: words('0 2147483648 9007199254740991 1.0 1e3 10e-1 1773500966535.0'),
    schema_version: texts('1', '1.0', '1.9', '1.999', '1.2.345'),
    source: texts(
      'n'.repeat(256),
      BALL.repeat(256),
      '\u2028\ufeff\ufffd\u{10ffff}',
      'e\u0301',
      '\u00e9',
      ' ',
    ),
    unknown: ['"\\ud800"', '"\\u0000\\u009f"', `[${'['.repeat(30)}${']'.repeat(30)}]`],
    payload: ['{}', '{"__proto__":null,"":[],"a":{"toJSON":1}}', '{"\\u005c":1,"\\ud83d":2}'],
  };
  const rows = Object.entries(valid).flatMap(([name, all]) => all.map((value) => ({ [name]: value })));
  await comeBack(t, ...rows, { payload: '{"n":-0}' });
});

t.test('numbers that no double holds come back digit for digit', async (t) => {
  const numbers = words(
    '18446744073709551615 -9223372036854775808 9007199254740993 3.14159265358979323846264338',
  );
  const lines = await comeBack(t, ...numbers.map((n) => ({ payload: `{"x_ft":${n},"n":[${n}]}`, more: n })));
  for (const [i, n] of numbers.entries()) t.equal(lines[i]?.split(n).length, 4, n);
});

t.test('a revision that is absent or null is 0, and is written', async (t) => {
  const { revision: _, ...sent } = event({ session_id: 'no-revision' });
  t.equal((await table.post(sent)).body, '{"accepted":1,"duplicates":0}');
  t.equal((await table.post({ ...sent, revision: null })).body, '{"accepted":0,"duplicates":1}');
  t.match(JSON.parse((await daemon.exported('no-revision'))[0]!), { ...sent, revision: 0 });
});

t.test('of duplicate members the last wins, in the envelope and in the payload', async (t) => {
  const last = event({ session_id: 'doubles', payload: { x_ft: 2, note: { a: 2 } } });
  const text = JSON.stringify(last)
    .slice(1)
    .replace('"x_ft":2', '"x_ft":"1","x_ft":2')
    .replace('{"a":2}', '{"a":1,"a":2}');
  const body = `{"event_id":7,"type":"NONE","payload":[],"confidence":2,"source":"","eot":"now",${text}`;
  t.equal((await table.post(body)).body, '{"accepted":1,"duplicates":0}');
  t.strictSame(JSON.parse((await daemon.exported('doubles'))[0]!), last);
});

t.test('a payload is rejected for nothing but the place and verdict of a bounce', async (t) => {
  const values = words('null 7 -0.10 "text" "" true [] [1] {} {"a":1}');
  const rows = EVENT_TYPES.flatMap((type) =>
    PAYLOAD_FIELDS.filter((name) => type !== 'BALL_BOUNCE' || !/_ft|is_in/.test(name)).flatMap((name) =>
      values.map((value) => ({ type: `"${type}"`, payload: `{"${name}":${value},"n":1.50}` })),
    ),
  );
  const body = rows.map((fields) => eventText(fields, { session_id: 'any' }));
  t.equal((await table.post(`[${body}]`)).body, `{"accepted":${body.length},"duplicates":0}`);
  const payloads = (await daemon.exported('any')).map((line) => /"payload":(.*)}$/.exec(line)?.[1]);
  t.strictSame(
    payloads,
    rows.map(({ payload }) => payload),
    'byte for byte',
  );
});

t.test('an eot in every form is kept as it was sent', async (t) => {
  const zones = words('Z +01:00 +0100 +01 -00:00 -00 +23:59 -23:59');
  const clocks = words('15:09 15:09:26 15:09:26.5 15:09:26,535 15:09:26.1234567890123 23:59:60 24:00');
  const others = ['1678-01-01T00:00Z', '2261-12-31t23:59:59.999999999z', '2026-03-14 15:09:26.5+00:00'];
  const basic = ['20260314T150926.535Z', '20260314 240000,0-12', `2026-03-14T15:09:26.${'5'.repeat(43)}Z`];
  const all = [
    ...zones.flatMap((zone) => clocks.map((clock) => `2026-03-14T${clock}${zone}`)),
    ...others,
    ...basic,
  ];
  await comeBack(t, ...all.map((eot) => ({ eot: `"${eot}"` })));
});

t.test(
  'white space is ignored, an empty array is nothing, and 500 events in a body of the limit are taken',
  async (t) => {
    const spaced = JSON.stringify(event(), null, '\r\n\t ');
    t.equal((await table.post(`\n\t ${spaced} \r\n`)).body, '{"accepted":1,"duplicates":0}');
    t.equal((await table.post(' [ \n] ')).body, '{"accepted":0,"duplicates":0}');
    const full = JSON.stringify(events(500)).padEnd(8 * 1024 * 1024, ' ');
    t.equal((await table.post(full)).body, '{"accepted":500,"duplicates":0}');
  },
);
