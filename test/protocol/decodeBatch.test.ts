import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { BATCH_EVENTS } from '../../src/base/limits.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { type CourtEvent, eventToJson } from '../../src/protocol/event.ts';
import { canonical, jsonObject } from '../harness/arbitraryJson.ts';
import { refusal } from '../harness/decodeRefusal.ts';
import { event, events } from '../harness/events.ts';
import { numRuns } from '../harness/numRuns.ts';

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const readText = (text: string) => decodeBatch(Buffer.from(text));

/** A valid event's JSON text with further members before its last brace. */
const withMembers = (members: string, sent: unknown = event({ payload: undefined })) =>
  `${JSON.stringify(sent).slice(0, -1)},${members}}`;
/** `depth` containers inside each other, as text. */
const nested = (depth: number) =>
  '[{"a":'.repeat(depth / 2) + (depth % 2 ? '[]' : '0') + '}]'.repeat(depth / 2);

t.test('one event is read into what the store keeps', async (t) => {
  const sent = event({ revision: 3, camera: 7 });
  t.strictSame(decodeBatch(json(sent)), [
    {
      eventId: sent.event_id,
      sessionId: 'session-1',
      venueId: 'venue-1',
      courtId: 'court-1',
      eot: '2026-03-14T15:09:26.535Z',
      eotNs: 1_773_500_966_535_000_000n,
      type: 'BALL_BOUNCE',
      confidence: 0.97,
      source: 'camera-1',
      schemaVersion: '1.0',
      revision: 3,
      payload: '{"x_ft":12.5,"y_ft":-3.25,"is_in":true}',
      extra: '{"camera":7}',
      odd: undefined,
    },
  ]);
  for (const revision of [undefined, null])
    t.match(decodeBatch(json(event({ revision }))), [{ revision: 0, extra: null }]);
});

t.test('an array is read in its order, and an empty one is valid', async (t) => {
  const sent = events(5);
  const read = decodeBatch(json(sent));
  for (const [at, { event_id }] of sent.entries()) t.equal(read[at]?.eventId, event_id);
  t.strictSame(readText(' [ \n] '), []);
  t.strictSame(readText(`\t${JSON.stringify(sent)}\r\n`).length, 5);
});

t.test('500 events pass, 501 are refused with their number, valid or not', async (t) => {
  t.equal(decodeBatch(json(events(BATCH_EVENTS))).length, 500);
  const problem = refusal(json(events(BATCH_EVENTS + 1)));
  t.equal(problem.code, 'too_many_events');
  t.match(problem.message, /holds 501 events; at most 500 /);
  t.equal(refusal(`[${'0,'.repeat(500)}0]`).code, 'too_many_events');
  t.equal(refusal(`[${'0,'.repeat(499)}0]`).code, 'invalid_event');
});

t.test('32 levels in one event pass, 33 are refused', async (t) => {
  const withDepth = (depth: number) => withMembers(`"payload":{"a":${nested(depth - 2)}}`);
  t.equal(readText(withDepth(32)).length, 1);
  t.equal(readText(`[${withDepth(32)},${withMembers(`"payload":{},"b":${nested(31)}`)}]`).length, 2);
  t.match(refusal(withDepth(33)), {
    code: 'too_deep',
    message: 'The event is nested deeper than 32 levels.',
  });
  const batch = `[${withDepth(32)},${withDepth(33)}]`;
  t.match(refusal(batch), {
    code: 'too_deep',
    message: 'Event 1 of the array is nested deeper than 32 levels.',
  });
});

t.test('a bomb of brackets is refused where it is too deep', async (t) => {
  for (const bomb of ['[', '[[', '{"a":', '[{"a":']) {
    t.equal(refusal(bomb.repeat(1_000_000)).code, 'too_deep', bomb);
  }
});

t.test('what is not JSON is refused, with the place where it is known, and not quoted', async (t) => {
  const one = JSON.stringify(event());
  const cases: [message: RegExp, ...bodies: (string | Buffer)[]][] = [
    [/^The body is empty: send one event, or an array of events\.$/, '', ' \n'],
    [
      /^The body is not JSON: it ends too early\.$/,
      '[',
      one.slice(0, -1),
      one.slice(0, -2),
      '[1,',
      '{"a',
      '{"a":"\\u00',
    ],
    [
      /^The body is not JSON: unexpected text at byte \d+\.$/,
      `${one}x`,
      `${one},`,
      `[${one}]]`,
      '{"a":1,}',
      'nul',
    ],
    [
      /^The body is not JSON/,
      one.slice(0, -1),
      `[${one},]`,
      `[${one}`,
      `[,${one}]`,
      one.replaceAll('"', "'"),
    ],
    [/^The body is not JSON/, ...['NaN', '.97', '00.97', '+0.97', '1.'].map((n) => one.replace('0.97', n))],
    [/^The body starts with a byte order mark/, `\ufeff${one}`],
    [/^The body is not JSON/, one.replace('session-1', 'session\n1'), `// hi\n${one}`],
    [/^The body is not JSON/, Buffer.from(one, 'utf16le')],
  ];
  for (const [message, ...bodies] of cases) {
    for (const body of bodies) {
      const problem = refusal(body);
      t.equal(problem.code, 'invalid_json');
      t.match(problem.message, message);
      t.notMatch(problem.message, /session|hi/);
    }
  }
});

t.test('what is not UTF-8 is refused', async (t) => {
  const bad = [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe9]];
  for (const bytes of bad) {
    const [head, tail] = withMembers('"payload":{"s":"#"}').split('#') as [string, string];
    const problem = refusal(Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from(tail)]));
    t.match(problem, { code: 'invalid_json', message: 'The body is not valid UTF-8.' }, bytes.join());
  }
});

t.test('a JSON value that is no object and no array is refused', async (t) => {
  for (const body of ['null', 'true', '1', '-0', '1e400', '""', '"{}"']) {
    t.match(
      refusal(body),
      { code: 'invalid_json', message: /must be one event \(a JSON object\) or an array/ },
      body,
    );
  }
});

t.test('any JSON in payload and unknown fields comes out as the same value', async () => {
  const property = fc.property(jsonObject, jsonObject, fc.boolean(), (payload, unknown, inArray) => {
    const inner = unknown.text.slice(1, -1);
    const sent = withMembers(`"payload":${payload.text}${inner.trim() === '' ? '' : `,${inner}`}`);
    const [read] = readText(inArray ? `[${sent}]` : sent);
    assert.equal(canonical(read?.payload ?? ''), payload.canon);
    assert.equal(canonical(read?.extra ?? '{}'), unknown.canon);
    assert.equal(canonical(eventToJson(read as CourtEvent)), canonical(sent));
  });
  fc.assert(property, numRuns(1000));
});

t.test('numbers that no double holds, __proto__ and lone surrogates are kept as sent', async (t) => {
  const texts = [
    '{"id":18446744073709551615}',
    '{"__proto__":{"x_ft":1}}',
    '{"a":"\\ud800","b":[-0,1e-400]}',
  ];
  for (const text of texts) {
    const [read] = readText(withMembers(`"payload":${text},"__proto__":${text}`));
    t.equal(read?.payload, text);
    t.equal(read?.extra, `{"__proto__":${text}}`);
  }
});

t.test('of duplicate members the last wins, in the envelope and in the payload', async (t) => {
  const [read] = readText(
    withMembers('"payload":1,"eot":7,"payload":{"x_ft":"no","x_ft":2},"eot":"2026-03-14T15:09Z"'),
  );
  t.match(read, { payload: '{"x_ft":"no","x_ft":2}', eot: '2026-03-14T15:09Z', extra: null });
  t.match(refusal(withMembers('"payload":{},"confidence":2')).members.details, [{ path: 'confidence' }]);
});

t.test('a member that is spelled with escapes is the one that it spells', async (t) => {
  const [head, tail] = JSON.stringify(event()).split('"event_id"') as [string, string];
  const spelled = ['"event\\u005fid"', '"\\u0065vent_id"', '"\\u0065\\u0076\\u0065nt_id"'];
  for (const name of spelled) t.match(readText(head + name + tail), [{ extra: null }], name);
  // As long as event_id, and with its first letter.
  const [read] = readText(
    withMembers('"payload":{"\\u0078_ft":1},"e\\u006ft":"2026-03-14T15:09Z","event\\tid":1'),
  );
  t.match(read, { payload: '{"\\u0078_ft":1}', eot: '2026-03-14T15:09Z', extra: '{"event\\tid":1}' });
  t.match(refusal(withMembers('"payload":{"\\u0078_ft":"a"}')).members.details, [{ path: 'payload.x_ft' }]);
});

t.test(
  '1e400 in a member that a later one replaces does not matter, unless its bytes are kept',
  async (t) => {
    const replaced =
      '"confidence":1e400,"eot":[1e400],"payload":{"a":1e400},"payload":{"x_ft":1e400,"x_ft":1}';
    const { confidence, eot, ...rest } = event({ payload: undefined });
    const sent = withMembers(`${replaced},"confidence":1,"eot":"${eot}"`, rest);
    t.match(readText(sent), [{ confidence: 1, payload: '{"x_ft":1e400,"x_ft":1}' }]);
    const kept = refusal(withMembers('"payload":{"a":1e400,"a":1},"camera":1e400,"camera":1'));
    t.strictSame(kept.members.details?.map(({ path }) => path).sort(), ['camera', 'payload.a']);
    t.equal(typeof confidence, 'number');
  },
);

t.test('1e400 is refused at every place of an event', async (t) => {
  const places: [path: string, members: string][] = [
    ['payload.x_ft', '"payload":{"x_ft":#}'],
    ['payload.spin', '"payload":{"spin":#}'],
    ['payload.a.0.b', '"payload":{"a":[{"b":#}]}'],
    ['payload.__proto__', '"payload":{"__proto__":#}'],
    ['payload', '"payload":#'],
    ['confidence', '"payload":{},"confidence":#'],
    ['revision', '"payload":{},"revision":#'],
    ['event_id', '"payload":{},"event_id":#'],
    ['camera', '"payload":{},"camera":#'],
    ['camera.1', '"payload":{},"camera":[0,#]'],
  ];
  for (const [path, members] of places) {
    for (const number of ['1e400', '-1E+400', `1${'0'.repeat(400)}`, '1.8e308']) {
      // More comes behind it: that it was there is remembered.
      const sent = withMembers(`${members.replace('#', number)},"schema_version":"1.0","lens":[7]`);
      const problem = refusal(sent);
      t.equal(problem.code, 'invalid_event', `${path} ${number}`);
      t.strictSame(
        problem.members.details?.map((fault) => fault.path),
        [path],
        `${path} ${number}`,
      );
      t.match(refusal(`[${JSON.stringify(event())},${sent}]`).members, {
        invalid_total: 1,
        invalid: [{ index: 1 }],
      });
    }
  }
  t.equal(readText(withMembers('"payload":{"x_ft":1.7976931348623157e308,"text":"1e400"}')).length, 1);
});

t.test('one bad event anywhere refuses the batch and is the only one named', async () => {
  const faults: [path: string, overrides: Record<string, unknown>][] = [
    ['event_id', { event_id: '' }],
    ['eot', { eot: '2026-02-31T12:00Z' }],
    ['eot', { eot: undefined }],
    ['venue_id', { venue_id: 'venue-2' }],
    ['type', { type: 'X' }],
    ['revision', { revision: -1 }],
    ['payload.x_ft', { payload: { x_ft: '1' } }],
  ];
  const property = fc.property(fc.nat(20), fc.nat(20), fc.constantFrom(...faults), (before, after, fault) => {
    const [path, overrides] = fault;
    const bad = event(overrides);
    const problem = refusal(json([...events(before), bad, ...events(after)]), { venue: 'venue-1' });
    const { invalid = [], invalid_total } = problem.members;
    assert.equal(problem.code, 'invalid_event');
    assert.equal(invalid_total, 1);
    const named = invalid.map(({ index, event_id, issues }) => [
      index,
      event_id,
      ...issues.map((i) => i.path),
    ]);
    assert.deepEqual(named, [[before, bad.event_id, path]]);
  });
  fc.assert(property);
});

t.test('the array, not the number of events, decides how faults are told', async (t) => {
  const membersOf = (sent: unknown) => Object.keys(refusal(json(sent)).members);
  t.strictSame(membersOf([event({ type: 'X' })]), ['invalid', 'invalid_total']);
  t.strictSame(membersOf(event({ type: 'X' })), ['details']);
  t.match(refusal('[[]]').members.invalid, [{ index: 0, event_id: null, issues: [{ path: '' }] }]);
});

t.test('no bytes bring anything but events or a problem of status 400', async (t) => {
  const near = fc.string({ unit: fc.constantFrom(...'[]{}",:\\-1e.tn ', 'é', '"a":', 'null') });
  const property = fc.property(
    fc.oneof(near, fc.json()).map((text) => Buffer.from(text)),
    (body) => {
      // No such text is an event; the one that is accepted is the empty array.
      t.equal(/^\s*\[\s*\]\s*$/.test(body.toString()) || refusal(body).status === 400, true);
    },
  );
  fc.assert(property, numRuns(1000));
});
