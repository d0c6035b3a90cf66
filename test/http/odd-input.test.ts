import t from 'tap';
import { EVENT_TYPES, PAYLOAD_FIELDS } from '../../src/protocol/eventTypes.ts';
import { canonical } from '../harness/arbitraryJson.ts';
import { show } from '../harness/badRequests.ts';
import { Daemon } from '../harness/daemon.ts';
import { event, events, eventText } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import type { Asserts } from '../harness/problem.ts';
import { answerOf } from '../harness/rawClient.ts';

runInProcess();

/** What is odd but valid is taken, and comes back whole. */

const daemon = await Daemon.start(t, ['--rate-limit', '0']);
const ACCEPTED = '{"accepted":1,"duplicates":0}';
const DUPLICATE = '{"accepted":0,"duplicates":1}';
let sessions = 0;

/**
 * Sends an event for each row, in requests of their own and in order; a row is some fields as JSON text.
 * @returns what the export gives back, one line each, after holding it against what was sent.
 */
async function comeBack(t: Asserts, ...rows: Record<string, string>[]): Promise<string[]> {
  const session = `odd-${++sessions}`;
  const sent = rows.map((fields) => eventText(fields, { session_id: session }));
  for (const body of sent) t.equal((await answerOf(daemon.post(body))).body, ACCEPTED, show(body));
  const lines = await daemon.exported(session);
  t.strictSame(lines.map(canonical), sent.map(canonical), 'the same values come back');
  return lines;
}

t.test('numbers that no double holds come back digit for digit', async (t) => {
  const numbers = [
    '18446744073709551615',
    '-9223372036854775808',
    '9007199254740993',
    '0.1e-400',
    '-0',
    '-0.0e5',
    '3.14159265358979323846264338327950288',
    '123456789012345678901234567890e-10',
    '1.7976931348623157e308',
    '5e-324',
  ];
  const rows = numbers.map((n) => ({ payload: `{"n":${n},"x_ft":${n}}`, camera_clock: `[${n}]` }));
  const lines = await comeBack(t, ...rows);
  for (const n of numbers.slice(0, 5)) {
    const line = lines[numbers.indexOf(n)] ?? '';
    t.ok(line.includes(`"n":${n},`) && line.includes(`"x_ft":${n}}`) && line.includes(`[${n}]`), n);
  }
});

t.test('the bounds themselves are valid', async (t) => {
  const name = (text: string) => JSON.stringify(text);
  await comeBack(
    t,
    ...['0', '1', '0.0', '1.0', '1e0', '5e-324', '0.9999999999999999'].map((confidence) => ({ confidence })),
    ...['0', '2147483648', '9007199254740991', '1.0', '1e3', '10e-1'].map((revision) => ({ revision })),
    ...['9007199254740991.000', '9.007199254740991e15', '1773500966535.0'].map((revision) => ({ revision })),
    ...['1', '1.0', '1.9', '1.00', '1.999', '1.2.345'].map((version) => ({ schema_version: name(version) })),
    ...['\u{1f3be}', 'n'].map((unit) => ({
      event_id: name(unit.repeat(256)),
      source: name(unit.repeat(256)),
    })),
    { court_id: name(' '), venue_id: name('\u00a0'), source: name('\u2028\ufeff\ufffd\u{10ffff}') },
  );
});

t.test('-0 is a valid confidence and a valid revision, and is 0', async (t) => {
  const session = 'minus-zero';
  const body = eventText({ revision: '-0', confidence: '-0' }, { session_id: session });
  t.equal((await answerOf(daemon.post(body))).body, ACCEPTED);
  t.match(await daemon.exported(session), [/"confidence":0,.*"revision":0,/]);
});

t.test('a revision that is absent or null is 0, and is written', async (t) => {
  const { revision: _, ...sent } = event({ session_id: 'no-revision' });
  t.equal((await answerOf(daemon.post(sent))).body, ACCEPTED);
  t.equal((await answerOf(daemon.post({ ...sent, revision: null }))).body, DUPLICATE);
  t.strictSame(
    (await daemon.exported('no-revision')).map((line) => JSON.parse(line)),
    [{ ...sent, revision: 0 }],
  );
});

t.test('of duplicate members the last wins, in the envelope and in the payload', async (t) => {
  const good = event({ session_id: 'doubles', payload: { x_ft: 2, note: { a: 2 } } });
  const last = JSON.stringify(good)
    .slice(1)
    .replace('"x_ft":2', '"x_ft":"1","x_ft":2')
    .replace('{"a":2}', '{"a":1,"a":2}');
  const body = `{"event_id":7,"type":"NONE","payload":[],"confidence":1e400,"source":"","eot":"now",${last}`;
  t.equal((await answerOf(daemon.post(body))).body, ACCEPTED);
  t.strictSame(
    (await daemon.exported('doubles')).map((line) => JSON.parse(line)),
    [good],
  );
});

t.test('a member may have any name, even if two differ only by an escape', async (t) => {
  const names = [
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'toJSON',
    '',
    ' ',
    'a.b/c~0',
    '0',
    'length',
  ];
  const escaped = [
    '"\\\\"',
    '"a\\\\b"',
    '"\\u005c"',
    '"a\\u0000b"',
    '"\\ud83d"',
    '"\\"{[,"',
    '"caf\\u00e9"',
    '"\u2028"',
  ];
  const members = [...names.map((name) => JSON.stringify(name)), ...escaped].map((name, i) => [
    name,
    `{"deep":${i}}`,
  ]);
  const object = `{${members.map((member) => member.join(':')).join(',')}}`;
  const unknown = Object.fromEntries(names.map((name, i) => [name, `${i}`]));
  const lines = await comeBack(t, { payload: object, 'camera\\id': object }, unknown, {
    payload: `{"__proto__":null}`,
  });
  t.ok(lines[2]?.includes('"payload":{"__proto__":null}'));
});

t.test('every plane of Unicode comes back, in names and in the payload', async (t) => {
  const planes = Array.from({ length: 17 }, (_, plane) =>
    String.fromCodePoint(plane * 0x10000 + 0xfffe, plane * 0x10000 + 0x41),
  );
  const forms = [
    '\u00e9',
    'e\u0301',
    '\u212b',
    '\u00c5',
    '\ufb01',
    '\u0130',
    '\u{1f468}\u200d\u{1f469}',
    '\u202e',
  ];
  await comeBack(
    t,
    ...[...planes, ...forms].map((text) => ({
      source: JSON.stringify(text),
      payload: JSON.stringify({ [text]: text }),
    })),
  );
});

t.test('names that only look alike are different names', async (t) => {
  const alike = ['caf\u00e9', 'cafe\u0301', 'CAF\u00c9', 'caf\u00e9 ', ' caf\u00e9'];
  const sent = alike.map((event_id) => event({ event_id, session_id: 'alike' }));
  t.equal((await answerOf(daemon.post(sent))).body, '{"accepted":5,"duplicates":0}');
  for (const session_id of ['caf\u00e9-s', 'cafe\u0301-s']) {
    t.equal((await answerOf(daemon.post(event({ event_id: 'one', session_id })))).body, ACCEPTED);
    t.equal((await daemon.exported(session_id)).length, 1);
  }
});

t.test('lone surrogates and control characters in the payload come back', async (t) => {
  const texts = [
    '"\\ud800"',
    '"a\\udfffb"',
    '"\\udc00\\ud800"',
    '"\\u0000"',
    '"\\u001f\\u007f\\u009f"',
    '"\\u2029"',
  ];
  await comeBack(
    t,
    ...texts.map((text) => ({ payload: `{"player_id":${text},"t":[${text}]}`, unknown: text })),
  );
});

t.test('any payload that is an object is kept, down to 32 levels', async (t) => {
  const deep = `${'['.repeat(30)}${']'.repeat(30)}`;
  const payloads = [
    '{}',
    '{"a":{}}',
    '{"a":[]}',
    '{"a":null}',
    '{"kmh":0,"is_in":false,"shot_type":""}',
    `{"a":${deep}}`,
  ];
  await comeBack(t, ...payloads.map((payload) => ({ payload })), { payload: '{}', more: `[${deep}]` });
});

t.test('a payload is refused for nothing but the place and verdict of a bounce', async (t) => {
  const values = ['null', '7', '-0.10', '"text"', '""', 'true', '[]', '[1]', '{}', '{"a":1}'];
  const numbers = ['x_ft', 'y_ft', 'is_in'];
  const rows = EVENT_TYPES.flatMap((type) =>
    PAYLOAD_FIELDS.filter((name) => type !== 'BALL_BOUNCE' || !numbers.includes(name)).flatMap((name) =>
      values.map((value) => ({ type: JSON.stringify(type), payload: `{"${name}":${value},"n":1.50}` })),
    ),
  );
  const nulls = `{${PAYLOAD_FIELDS.map((name) => `"${name}":null`)}}`;
  const body = [...rows, { payload: nulls }].map((fields) => eventText(fields, { session_id: 'any' }));
  t.equal((await answerOf(daemon.post(`[${body}]`))).body, `{"accepted":${body.length},"duplicates":0}`);
  const payloads = (await daemon.exported('any')).map((line) => /"payload":(.*)}$/.exec(line)?.[1]);
  t.strictSame(payloads, [...rows.map(({ payload }) => payload), nulls], 'byte for byte');
});

t.test('an eot in every form is kept as it was sent', async (t) => {
  const zones = ['Z', '+01:00', '+0100', '+01', '-00:00', '-0000', '-00', '+23:59', '-23:59', '+0545'];
  const clocks = [
    '15:09',
    '15:09:26',
    '15:09:26.5',
    '15:09:26,535',
    '15:09:26.1234567890123',
    '23:59:60',
    '00:00:00.0',
  ];
  const others = [
    '1678-01-01T00:00Z',
    '2261-12-31T23:59:59.999999999Z',
    '2261-12-31t24:00:00+00:01',
    '2026-03-14 15:09:26.535000+00:00',
    '20260314T150926.535Z',
    '20260314t1509z',
    '20260314 240000,0-12',
    '2026-12-31T24:00Z',
    '2024-02-29T00:00Z',
    '2000-02-29T00:00Z',
  ];
  const long = `2026-03-14T15:09:26.${'5'.repeat(43)}Z`;
  t.equal(long.length, 64, 'as long as may be');
  const eots = [
    ...zones.flatMap((zone) => clocks.map((clock) => `2026-03-14T${clock}${zone}`)),
    ...others,
    long,
  ];
  const sent = eots.map((eot) => event({ eot, session_id: 'zones' }));
  t.equal((await answerOf(daemon.post(sent))).body, `{"accepted":${sent.length},"duplicates":0}`);
  const back = (await daemon.exported('zones')).map((line) => JSON.parse(line));
  const byId = (a: { event_id: string }, b: { event_id: string }) => (a.event_id < b.event_id ? -1 : 1);
  t.strictSame(back.sort(byId), sent.sort(byId));
});

t.test('white space around everything is ignored', async (t) => {
  const body = JSON.stringify(event(), null, '\r\n\t ').replaceAll(':', ' :');
  t.equal(
    (await answerOf(daemon.post(`\n\t ${body.replace('15 :09 :26', '15:09:26')} \r\n`))).body,
    ACCEPTED,
  );
});

t.test('an empty array is a batch of nothing, and 500 events are one', async (t) => {
  for (const body of ['[]', ' [ \n] ']) {
    t.equal((await answerOf(daemon.post(body))).body, '{"accepted":0,"duplicates":0}');
  }
  t.equal(
    (await answerOf(daemon.post(events(500, { session_id: '500' })))).body,
    '{"accepted":500,"duplicates":0}',
  );
  t.equal((await daemon.exported('500')).length, 500);
});

t.test('a body of exactly the limit is taken', async (t) => {
  const body = JSON.stringify(event()).padEnd(8 * 1024 * 1024, ' ');
  t.equal((await answerOf(daemon.post(body))).body, ACCEPTED);
});
