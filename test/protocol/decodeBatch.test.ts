import { Ajv } from 'ajv';
import t from 'tap';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { EventSchema } from '../../src/protocol/eventSchema.ts';
import type { EventRules } from '../../src/protocol/validate.ts';
import { jsonOf, refusal } from '../harness/decodeRefusal.ts';
import { event } from '../harness/events.ts';

/** The message of a rejection, and how members differ. What is accepted and what is rejected: http/content.test.ts. */

const explain = (sent: unknown, rules: EventRules = {}) => refusal(jsonOf(sent), rules);
const details = (sent: unknown, rules: EventRules = {}) => explain(sent, rules).members.details ?? [];
const paths = (sent: unknown, rules: EventRules = {}) => details(sent, rules).map(({ path }) => path);
const readText = (text: string) => decodeBatch(Buffer.from(text));
const show = (value: unknown) => JSON.stringify(value)?.slice(0, 40) ?? String(value);

/** A valid event's JSON text with further members before its last brace. */
const withMembers = (members: string, sent: unknown = event({ payload: undefined })) =>
  `${JSON.stringify(sent).slice(0, -1)},${members}}`;

/** 1e400, as JSON.parse gives it. */
const TOO_LARGE = Number.POSITIVE_INFINITY;
const BALL = '\u{1f3be}';

t.test('a missing field is required, and a value that is no object is no event', async (t) => {
  const { eot: _, ...rest } = event();
  t.strictSame(details(rest), [{ path: 'eot', message: 'is required' }]);
  for (const sent of [1, 'a', true, TOO_LARGE, []]) {
    const issues = [{ path: '', message: /^must be an object, was / }];
    t.match(explain([sent]).members.invalid, [{ index: 0, event_id: null, issues }], show(sent));
  }
  t.match(explain([null]).message, /event 0.* object.* null/);
});

t.test('hostile long values and names come to an end, and are cut', async (t) => {
  for (const unit of ['x', BALL, '\0', '1.', '\ud800']) {
    const long = unit.repeat(200_000);
    const fields = { event_id: long, eot: long, type: long, schema_version: long };
    t.strictSame(paths(event(fields)).sort(), Object.keys(fields).sort());
  }
  const name = 'n'.repeat(100_000);
  const payload = { [name]: Array.from({ length: 20_000 }, () => TOO_LARGE), x_ft: TOO_LARGE };
  t.strictSame(explain(event({ payload, [name]: TOO_LARGE })).members.details, [
    { path: 'payload.x_ft', message: 'must be a number, was a number that a double cannot hold' },
    { path: 'payload', message: 'holds a number that a double cannot hold' },
    { path: `${'n'.repeat(60)}…`, message: 'holds a number that a double cannot hold' },
  ]);
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
    const { confidence: _, eot, ...rest } = event({ payload: undefined });
    const replaced =
      '"confidence":1e400,"eot":[1e400],"payload":{"a":1e400},"payload":{"x_ft":1e400,"x_ft":1}';
    const sent = withMembers(`${replaced},"confidence":1,"eot":"${eot}"`, rest);
    t.match(readText(sent), [{ confidence: 1, payload: '{"x_ft":1e400,"x_ft":1}' }]);
    const kept = refusal(withMembers('"payload":{"a":1e400,"a":1},"camera":1e400,"camera":1'));
    t.strictSame(kept.members.details?.map(({ path }) => path).sort(), ['camera', 'payload']);
  },
);

t.test('1e400 is refused at every place of an event, whatever comes behind it', async (t) => {
  const places: [path: string, members: string][] = [
    ['payload', '"payload":{"a":[{"b":#}]}'],
    ['payload', '"payload":{"__proto__":#}'],
    ['payload', '"payload":#'],
    ['event_id', '"payload":{},"event_id":#'],
    ['camera', '"payload":{},"camera":#'],
    ['camera', '"payload":{},"camera":[0,#]'],
  ];
  for (const [path, members] of places) {
    for (const number of ['1e400', '-1E+400', `1${'0'.repeat(400)}`, '1.8e308']) {
      const sent = withMembers(`${members.replace('#', number)},"schema_version":"1.0","lens":[7]`);
      t.match(refusal(sent).members.details, [{ path }], `${path} ${number}`);
      const invalid = [{ index: 1 }];
      t.match(refusal(`[${JSON.stringify(event())},${sent}]`).members, { invalid_total: 1, invalid });
    }
  }
  t.equal(readText(withMembers('"payload":{"x_ft":1.7976931348623157e308,"text":"1e400"}')).length, 1);
});

t.test('the schema, which no start of the daemon checks, is a valid JSON Schema', (t) => {
  t.doesNotThrow(() => new Ajv({ validateSchema: true, strictTypes: false }).compile(EventSchema));
  t.end();
});
