import { Ajv } from 'ajv';
import t from 'tap';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { EventSchema } from '../../src/protocol/eventSchema.ts';
import { refusal } from '../harness/decodeRefusal.ts';
import { event, eventText } from '../harness/events.ts';

/** How members differ. What is accepted and what is rejected: http/content.test.ts. */

const readText = (text: string) => decodeBatch(Buffer.from(text));
const paths = (text: string) =>
  refusal(text)
    .members.details?.map(({ path }) => path)
    .sort();

/** A valid event's JSON text with further members before its last brace. */
const withMembers = (members: string, sent: unknown = event({ payload: undefined })) =>
  `${JSON.stringify(sent).slice(0, -1)},${members}}`;

t.test('hostile long values and names come to an end, and are cut', async (t) => {
  for (const unit of ['x', '\u{1f3be}', '\0', '1.', '\ud800']) {
    const long = unit.repeat(200_000);
    const fields = { event_id: long, eot: long, type: long, schema_version: long };
    t.strictSame(paths(JSON.stringify(event(fields))), Object.keys(fields).sort());
  }
  const name = 'n'.repeat(100_000);
  const payload = `{"${name}":[${'1e400,'.repeat(20_000)}0],"x_ft":1e400}`;
  t.strictSame(paths(eventText({ payload, [name]: '1e400' })), [
    `${'n'.repeat(60)}…`,
    'payload',
    'payload.x_ft',
  ]);
});

t.test('many numbers that are too large are found in linear time, each at its place', async (t) => {
  const members = Array.from({ length: 30_000 }, (_, i) => `"${i}":1e400`).join();
  const startedAt = performance.now();
  t.match(refusal(withMembers(members, event())).members, { details_total: 30_000 });
  t.ok(performance.now() - startedAt < 1_500);
  t.strictSame(paths(eventText({ type: '"BALL_SPEED"', payload: '{"kmh":-1e400}' })), ['payload.kmh']);
  t.strictSame(paths(eventText({ payload: '{"x_ft":1e400}' })), ['payload.x_ft']);
  t.strictSame(paths(eventText({ confidence: '1e400' })), ['confidence']);
});

t.test('of duplicate members the last counts, whatever number the first one holds', async (t) => {
  const first = '"confidence":1e400,"source":[1e400],"payload":{"a":1e400},"revision":1e999';
  const last = '"confidence":0.5,"source":"cam","payload":{"x_ft":1e400,"x_ft":1},"revision":2';
  t.match(readText(withMembers(`${first},${last}`)), [{ confidence: 0.5, source: 'cam', revision: 2 }]);
});

t.test('a member that is spelled with escapes is the one that it spells', async (t) => {
  const [head, tail] = JSON.stringify(event()).split('"event_id"') as [string, string];
  for (const name of ['"event\\u005fid"', '"\\u0065\\u0076\\u0065nt_id"'])
    t.match(readText(head + name + tail), [{ extra: null }], name);
  // As long as event_id, and with its first letter.
  const [read] = readText(
    withMembers('"payload":{"\\u0078_ft":1},"e\\u006ft":"2026-03-14T15:09Z","event\\tid":1'),
  );
  t.match(read, { payload: '{"\\u0078_ft":1}', eot: '2026-03-14T15:09Z', extra: '{"event\\tid":1}' });
  t.strictSame(paths(withMembers('"payload":{"\\u0078_ft":"a"}')), ['payload.x_ft']);
});

t.test('the schema, which no start of the daemon checks, is a valid JSON Schema', (t) => {
  t.doesNotThrow(() => new Ajv({ validateSchema: true, strictTypes: false }).compile(EventSchema));
  t.end();
});
