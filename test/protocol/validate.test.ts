import { Ajv } from 'ajv';
import t from 'tap';
import { LISTED_EVENTS, LISTED_FAULTS } from '../../src/base/limits.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { EventSchema } from '../../src/protocol/eventSchema.ts';
import type { EventRules } from '../../src/protocol/validate.ts';
import { jsonOf, refusal } from '../harness/decodeRefusal.ts';
import { event, events } from '../harness/events.ts';

const explain = (sent: unknown, rules: EventRules = {}) => refusal(jsonOf(sent), rules);
const details = (sent: unknown, rules: EventRules = {}) => explain(sent, rules).members.details ?? [];
/** How many events are taken. */
const take = (sent: unknown, rules: EventRules = {}) => decodeBatch(Buffer.from(jsonOf(sent)), rules).length;
const paths = (sent: unknown, rules: EventRules = {}) => details(sent, rules).map((fault) => fault.path);
const show = (value: unknown) => JSON.stringify(value)?.slice(0, 40) ?? String(value);

const REQUIRED = [
  'event_id',
  'session_id',
  'venue_id',
  'court_id',
  'source',
  'eot',
  'type',
  'confidence',
  'schema_version',
  'payload',
];
/** 1e400, as JSON.parse gives it. */
const TOO_LARGE = Number.POSITIVE_INFINITY;
const BALL = '\u{1f3be}';

t.test('a missing required field is a fault of its own, whose path is its name', async (t) => {
  for (const name of REQUIRED) {
    const { [name]: _, ...rest } = event() as unknown as Record<string, unknown>;
    t.strictSame(details(rest), [{ path: name, message: 'is required' }], name);
  }
  t.strictSame(paths({}).sort(), [...REQUIRED].sort(), 'all at once');
});

t.test('a field is not found on a prototype', async (t) => {
  const sent = JSON.parse(`{"__proto__":${JSON.stringify(event())}}`);
  t.equal(paths(sent).length, REQUIRED.length);
});

t.test('unknown fields pass, in the envelope and in the payload', async (t) => {
  const unknown = { constructor: 1, toString: null, 'a.b/c~d': [{}], camera: { x_ft: 'no number' } };
  t.equal(take(event({ ...unknown, payload: unknown })), 1);
});

t.test('what is no object is no event', async (t) => {
  for (const sent of [null, 1, 'a', true, TOO_LARGE, []]) {
    const [invalid] = explain([sent]).members.invalid ?? [];
    t.match(invalid, {
      index: 0,
      event_id: null,
      issues: [{ path: '', message: /^must be an object, was / }],
    });
    t.equal(invalid?.issues.length, 1, show(sent));
  }
  t.match(explain([null]).message, 'First: event 0, it must be an object, was null.');
});

t.test('a malformed eot is quoted with the reason', async (t) => {
  const [fault] = details(event({ eot: '2026-02-31T12:00Z' }));
  t.strictSame(fault, { path: 'eot', message: 'must be a real calendar date, was "2026-02-31T12:00Z"' });
});

t.test('a box with a venue takes only that one', async (t) => {
  const rules = { venue: 'venue-1' };
  t.equal(take(event(), rules), 1);
  for (const venue_id of ['venue-2', 'VENUE-1', 'venue-1 ', 'venue']) {
    t.strictSame(paths(event({ venue_id }), rules), ['venue_id']);
    t.match(
      details(event({ venue_id }), rules)[0]?.message,
      `must be "venue-1", the venue of this box, was "${venue_id}"`,
    );
  }
  t.strictSame(paths(event({ venue_id: 7 }), rules), ['venue_id'], 'a wrong type is told once');
  t.strictSame(paths(event({ venue_id: undefined }), rules), ['venue_id'], 'a missing one too');
});

t.test('a number too large for a double is a fault wherever it stands', async (t) => {
  const sent = event({ extra: [1, { deep: TOO_LARGE }], payload: { x_ft: TOO_LARGE, spin: -TOO_LARGE } });
  t.strictSame(paths(sent).sort(), ['extra.1.deep', 'payload.spin', 'payload.x_ft']);
  for (const { message } of details(sent)) t.match(message, /a double can/);
});

t.test('an answer about one event tells all of its faults, in a sentence the first', async (t) => {
  const problem = explain(event({ confidence: 2, revision: -1, eot: 'now', payload: { is_in: 1 } }), {});
  t.equal(problem.code, 'invalid_event');
  t.strictSame(Object.keys(problem.members), ['details']);
  t.strictSame(problem.members.details?.map((f) => f.path).sort(), [
    'confidence',
    'eot',
    'payload.is_in',
    'revision',
  ]);
  const { path, message } = problem.members.details?.[0] ?? {};
  t.equal(problem.message, `The event is invalid: ${path} ${message}. Nothing was stored.`);
});

t.test('an answer about an array names index, event_id and faults of every bad event', async (t) => {
  const sent = [
    event(),
    event({ event_id: 'bad-1', type: 'X' }),
    event(),
    event({ event_id: 7, revision: -1 }),
  ];
  const { members, message } = explain(sent, {});
  t.strictSame(Object.keys(members), ['invalid', 'invalid_total']);
  t.equal(members.invalid_total, 2);
  t.match(members.invalid, [
    { index: 1, event_id: 'bad-1', issues: [{ path: 'type', message: /, was "X"$/ }] },
    { index: 3, event_id: null, issues: [{ path: 'event_id' }, { path: 'revision' }] },
  ]);
  t.match(
    message,
    '2 of 4 events are invalid, so nothing of the request was stored. First: event 1 ("bad-1"), type ',
  );
  t.match(explain([event({ type: 'X' })]).message, '1 of 1 events is invalid');
});

t.test('ten faults of an event are listed, the eleventh is only counted', async (t) => {
  t.equal(REQUIRED.length, LISTED_FAULTS);
  const ten = explain({}).members;
  t.equal(ten.details?.length, LISTED_FAULTS);
  t.equal(ten.details_total, undefined);
  const eleven = { revision: -1 };
  t.match(explain(eleven).members, { details_total: 11 });
  t.equal(details(eleven).length, LISTED_FAULTS);
  const [ofTen, ofEleven] = explain([{}, eleven]).members.invalid ?? [];
  t.strictSame([ofTen?.issues.length, ofTen?.issues_total], [LISTED_FAULTS, undefined]);
  t.strictSame([ofEleven?.issues.length, ofEleven?.issues_total], [LISTED_FAULTS, 11]);
});

t.test('fifty events are listed, the fifty-first is only counted', async (t) => {
  t.equal(LISTED_EVENTS, 50);
  const bad = (count: number) => explain([...events(3), ...events(count, { type: 'X' })]).members;
  for (const count of [LISTED_EVENTS, LISTED_EVENTS + 1, 497]) {
    t.equal(bad(count).invalid_total, count);
    t.strictSame(
      bad(count).invalid?.map(({ index }) => index),
      Array.from({ length: LISTED_EVENTS }, (_, i) => i + 3),
    );
  }
});

t.test('a long bad value is cut where it is quoted, and its length is told', async (t) => {
  const [fault] = details(event({ source: BALL.repeat(300) }));
  t.match(fault?.message, `"${BALL.repeat(30)}"… (300 characters)`);
  const [short] = details(event({ type: 'x'.repeat(60) }));
  t.match(short?.message, /, was "x{60}"$/);
});

t.test('hostile long values come to an end', async (t) => {
  for (const unit of ['x', BALL, '\0', '1.', '\ud800']) {
    const long = unit.repeat(200_000);
    const fields = { event_id: long, eot: long, type: long, schema_version: long };
    t.strictSame(paths(event(fields)).sort(), Object.keys(fields).sort());
  }
});

t.test('long names are cut in a path, and cost nothing for each number behind them', async (t) => {
  const name = 'n'.repeat(100_000);
  const payload = { [name]: Array.from({ length: 20_000 }, () => TOO_LARGE), x_ft: TOO_LARGE };
  const { details, details_total } = explain(event({ payload })).members;
  t.strictSame(details?.slice(0, 2), [
    { path: 'payload.x_ft', message: 'must be a number, was a number that a double cannot hold' },
    { path: `payload.${'n'.repeat(60)}….0`, message: 'must be a number that a double can hold' },
  ]);
  t.equal(details_total, 20_001);
});

t.test('a number for a text is told that it must be a string, and no more', async (t) => {
  for (const name of ['event_id', 'session_id', 'venue_id', 'court_id', 'source', 'eot']) {
    t.strictSame(details(event({ [name]: 17 })), [{ path: name, message: 'must be a string, was 17' }]);
  }
  t.match(details(event({ event_id: '' })), [{ message: /^must be a string of 1 to 256 characters/ }]);
});

t.test('a schema_version that is a number, or anything else, is told which ones are accepted', async (t) => {
  for (const schema_version of [1, 2.5, null, '1.', '2.0']) {
    const message = `must be a string "1", "1.x" or "1.x.y" with x and y of 1 to 3 digits, such as "1.0", was ${show(schema_version)}`;
    t.strictSame(details(event({ schema_version })), [{ path: 'schema_version', message }]);
  }
});

t.test('what is in a list is not quoted, but its kind and length are', async (t) => {
  const list = Array.from({ length: 3 }, () => [1, { a: 2 }]);
  t.match(details(event({ source: list })), [{ message: /was an array of 3$/ }]);
  t.match(details(event({ source: [] })), [{ message: /was an array of 0$/ }]);
  t.match(details(event({ payload: { x_ft: { a: 1 } } })), [{ message: 'must be a number, was an object' }]);
});

t.test('an object around the events is told to be left out', async (t) => {
  const told = /^The body is an object with an array in it, not an event: send the array itself\./;
  for (const body of [{ events: [event()] }, { version: 1, data: [] }]) {
    const { code, message, members } = explain(body);
    t.equal(code, 'invalid_event');
    t.match(message, told);
    t.equal(members.details?.length, LISTED_FAULTS, 'and what is missing is named all the same');
  }
  for (const body of [{}, { event: event() }, { tags: [1], source: 'camera-1' }]) {
    t.match(explain(body).message, /^The event is invalid: /);
  }
});

t.test('NaN, a second value and an empty body are told what to send instead', async (t) => {
  const one = JSON.stringify(event());
  const messageOf = (body: string) => {
    const { code, message } = refusal(body);
    t.equal(code, 'invalid_json');
    return message;
  };
  for (const word of ['NaN', 'Infinity', '-Infinity']) {
    const body = one.replace('12.5', word);
    const sentence = `The body is not JSON: ${word} at byte ${body.indexOf(word)}. JSON has no such number: omit the member.`;
    t.equal(messageOf(body), sentence);
  }
  t.equal(
    messageOf(`${one}\n${one}\n`),
    `The body is not JSON: a second value follows the first at byte ${one.length + 1}. Send one array of events, [{...}, {...}].`,
  );
  t.match(messageOf(`[${one}][${one}]`), /a second value follows/);
  t.match(messageOf(`${one},${one}`), /unexpected text/);
  t.match(messageOf(`[${one} ${one}]`), /unexpected text/);
  for (const body of ['', ' ', '\r\n\t']) {
    t.equal(messageOf(body), 'The body is empty: send one event, or an array of events.');
  }
});

t.test('the schema, which no start of the daemon checks, is a valid JSON Schema', (t) => {
  t.doesNotThrow(() => new Ajv({ validateSchema: true, strictTypes: false }).compile(EventSchema));
  t.end();
});
