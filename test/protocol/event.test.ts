import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { type CourtEvent, EVENT_TYPES, eventToJson, sameContent } from '../../src/protocol/event.ts';
import { canonical, jsonObject, jsonValue } from '../harness/arbitraryJson.ts';
import { character } from '../harness/character.ts';
import { jsonOf, refusal } from '../harness/decodeRefusal.ts';
import { event, eventText } from '../harness/events.ts';
import { numRuns } from '../harness/numRuns.ts';

const NAMES = ['event_id', 'session_id', 'venue_id', 'court_id', 'source'];
/** 1e400, as JSON.parse gives it. */
const TOO_LARGE = Number.POSITIVE_INFINITY;
const BALL = '\u{1f3be}';
const show = (value: unknown) =>
  inspect(value)
    .slice(0, 40)
    .replace(/[^ -~]/gu, '?');

interface Bounds {
  readonly fields: readonly string[];
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
}

const ENVELOPE: readonly Bounds[] = [
  {
    fields: NAMES,
    good: [
      'a',
      'x'.repeat(256),
      BALL.repeat(256),
      ' ',
      'é',
      'e\u0301',
      '\u00a0',
      '\u2028',
      '\ufeff',
      '\ufffd',
      '~',
    ],
    bad: [
      ...['', 'x'.repeat(257), BALL.repeat(257), `${BALL.repeat(256)}x`],
      ...['\0', '\t', 'a\nb', 'a\n', '\u001f', '\u007f', '\u0080', '\u0085', '\u009f'],
      ...['\ud800', '\udc00', 'a\ud83d', '\udfbea', '\udfbe\ud83c'],
      ...[null, 1, 0, true, [], ['a'], {}, TOO_LARGE],
    ],
  },
  { fields: ['eot'], good: ['2026-03-14T15:09Z'], bad: [null, 1773500966535, true, [], {}, TOO_LARGE] },
  {
    fields: ['type'],
    good: EVENT_TYPES,
    bad: ['', 'ball_bounce', 'BALL_BOUNCE ', 'BALL', 'PLAYER', null, 0, true, ['BALL_BOUNCE'], {}],
  },
  {
    fields: ['confidence'],
    good: [0, -0, 1, 0.5, 5e-324, 1 - Number.EPSILON],
    bad: [-5e-324, -1, 1 + Number.EPSILON, 2, 97, '0.5', null, true, [], [0.5], {}, TOO_LARGE, -TOO_LARGE],
  },
  {
    fields: ['schema_version'],
    good: ['1.0', '1.9', '1.10', '1.999', '1.00'],
    bad: [
      ...[
        '',
        '1',
        '1.',
        '.0',
        '1.1000',
        '2.0',
        '0.9',
        '11.0',
        '01.0',
        'v1.0',
        '1.0.0',
        '1.x',
        '1,0',
        '1x0',
        '-1.0',
      ],
      ...[' 1.0', '1.0 ', '1.0\n', '1.\uff10', 1, 1.5, null, true, [], {}],
    ],
  },
  {
    fields: ['revision'],
    good: [undefined, 0, -0, 1, 2_147_483_647],
    bad: [-1, 2_147_483_648, 0.5, 1e300, '0', '', null, true, false, [], {}, TOO_LARGE],
  },
  {
    fields: ['payload'],
    good: [
      {},
      { x_ft: 0, y_ft: -1e308, kmh: 5e-324, is_in: false, player_id: '', shot_type: 'a', swing_type: '\0' },
    ],
    bad: [null, [], [{}], '', '{}', 0, 1, true],
  },
];

const PAYLOAD: readonly Bounds[] = [
  {
    fields: ['x_ft', 'y_ft', 'kmh'],
    good: [undefined, 0, -1.5],
    bad: [null, '1', '', true, [], {}, TOO_LARGE],
  },
  { fields: ['is_in'], good: [undefined, true, false], bad: [null, 0, 1, 'true', '', [], {}] },
  {
    fields: ['player_id', 'shot_type', 'swing_type'],
    good: [undefined, '', BALL],
    bad: [null, 1, true, [], {}],
  },
];

const inPayload = (field: string, value: unknown) => event({ payload: { [field]: value } });
const CASES = [
  ...ENVELOPE.flatMap(({ fields, good, bad }) =>
    fields.map((path) => ({ path, good, bad, of: (value: unknown) => event({ [path]: value }) })),
  ),
  ...PAYLOAD.flatMap(({ fields, good, bad }) =>
    fields.map((name) => ({
      path: `payload.${name}`,
      good,
      bad,
      of: (value: unknown) => inPayload(name, value),
    })),
  ),
];

t.test('a value within the bounds of its field is valid', async (t) => {
  for (const { path, good, of } of CASES) {
    for (const value of good)
      t.equal(decodeBatch(Buffer.from(jsonOf(of(value)))).length, 1, `${path} ${show(value)}`);
  }
});

t.test('a value outside the bounds is one fault, at its path, and says what must hold', async (t) => {
  for (const { path, bad, of } of CASES) {
    for (const value of bad) {
      const { details = [] } = refusal(jsonOf(of(value))).members;
      t.strictSame(
        details.map((fault) => fault.path),
        [path],
        `${path} ${show(value)}`,
      );
      t.match(details[0]?.message, /^must be .+, was .+/s, `${path} ${show(value)}`);
    }
  }
});

const SENT = { ...event({ event_id: 'e-1', camera: { id: 7, lens: 'wide' } }) };
const read = (sent: unknown) => decodeBatch(Buffer.from(JSON.stringify(sent)))[0] as CourtEvent;

t.test('an event comes back as the JSON value that was sent', async (t) => {
  t.strictSame(JSON.parse(eventToJson(read(SENT))), SENT);
  const plain = event();
  t.strictSame(JSON.parse(eventToJson(read(plain))), plain, 'without unknown fields');
});

t.test('revision is always written', async (t) => {
  t.equal(JSON.parse(eventToJson(read(event({ revision: undefined })))).revision, 0);
  t.equal(JSON.parse(eventToJson(read(event({ revision: 2_147_483_647 })))).revision, 2_147_483_647);
});

t.test('it is one line, whatever the fields hold', async (t) => {
  const json = eventToJson(read(event({ note: 'a\r\nb', payload: { text: '\n' }, source: '"\\' })));
  t.notMatch(json, /[\r\n]/);
  t.equal(JSON.parse(json).source, '"\\');
});

t.test('every confidence comes back as the same number', async (t) => {
  for (const confidence of [0, 1, 0.1 + 0.2, 1e-7, 5e-324, 1 - Number.EPSILON]) {
    t.equal(JSON.parse(eventToJson(read(event({ confidence })))).confidence, confidence);
  }
});

t.test('any names come back, code unit for code unit', async () => {
  const name = fc
    .string({ unit: character, minLength: 1, maxLength: 256 })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a name must not hold
    .filter((text) => !/[\u0000-\u001f\u007f-\u009f]/.test(text) && text.isWellFormed());
  const names = fc.record({ event_id: name, session_id: name, venue_id: name, court_id: name, source: name });
  fc.assert(
    fc.property(names, (names) => {
      const sent = event(names);
      return fc.stringify(JSON.parse(eventToJson(read(sent)))) === fc.stringify(sent);
    }),
  );
});

t.test('two spellings of one event have the same content', async (t) => {
  const first = read(SENT);
  const reversed = Object.fromEntries(
    Object.entries({ ...SENT, payload: { is_in: true, y_ft: -3.25, x_ft: 12.5 } }).reverse(),
  );
  t.equal(sameContent(first, read(reversed)), true, 'member order');
  const respelled = JSON.stringify(SENT).replace('12.5', '1.250e1').replace('0.97', '97e-2');
  t.equal(sameContent(first, decodeBatch(Buffer.from(respelled))[0] as CourtEvent), true, 'numbers');
  t.equal(
    sameContent(read(event({ revision: 0 })), read(event({ revision: undefined }))),
    true,
    'default revision',
  );
});

t.test('an event that differs in any field has different content', async (t) => {
  const others: Record<string, unknown> = {
    venue_id: 'venue-2',
    court_id: 'court-2',
    // The same instant, but not what was sent.
    eot: '2026-03-14T15:09:26.5350Z',
    type: 'BALL_HIT',
    confidence: 0.96,
    source: 'camera-2',
    schema_version: '1.1',
    payload: { x_ft: 12.5, y_ft: -3.25 },
    camera: { id: 8, lens: 'wide' },
    more: null,
  };
  for (const [name, value] of Object.entries(others)) {
    const other = read({ ...SENT, [name]: value });
    t.equal(sameContent(read(SENT), other) || sameContent(other, read(SENT)), false, name);
  }
  const { camera: _, ...without } = SENT as unknown as Record<string, unknown>;
  t.equal(sameContent(read(SENT), read(without)), false, 'an unknown field less');
});

const withPayload = (payload: string) =>
  decodeBatch(Buffer.from(eventText({ payload }, { event_id: 'e-1' })))[0] as CourtEvent;
const areSame = (a: string, b: string) => {
  const [first, second] = [withPayload(a), withPayload(b)];
  assert.equal(sameContent(first, second), sameContent(second, first));
  return sameContent(first, second);
};

t.test('two payloads are the same where they are one JSON value', async (t) => {
  const cases: [a: string, b: string][] = [
    ['{"a":1,"b":[true,null]}', ' { "b" : [ true , null ] , "a" : 1.0 } '],
    ['{"a":1e2}', '{"a":100}'],
    ['{"a":-0.10}', '{"a":-0.1}'],
    ['{"a":12345678901234}', '{"a":12345678901234.0}'],
    ['{"a":"\\u00e9"}', '{"a":"é"}'],
    ['{"a":2,"a":1}', '{"a":1}'],
    ['{"a":-0}', '{"a":-0.0e5}'],
    ['{"__proto__":{"a":1}}', '{ "__proto__": {"a":1} }'],
    ['{"id":"12345678901234567890","a":1,"b":2}', '{"b":2,"id":"12345678901234567890","a":1}'],
    ['{"n":18446744073709551615}', '{ "n" : 18446744073709551615 }'],
  ];
  for (const [a, b] of cases) t.equal(areSame(a, b), true, `${a} and ${b}`);
});

t.test('two values are not the same, however alike', async (t) => {
  const cases: [a: string, b: string][] = [
    ['1', '"1"'],
    ['1', 'true'],
    ['0', '-0'],
    ['0', 'null'],
    ['0', 'false'],
    ['{}', '[]'],
    ['{}', 'null'],
    ['{"a":null}', '{}'],
    ['[1,2]', '[2,1]'],
    ['[]', '[null]'],
    ['{"0":1}', '[1]'],
    ['"é"', '"e\u0301"'],
    ['"\\ud800"', '"\ufffd"'],
    ['18446744073709551615', '18446744073709551616'],
    ['0.1000000000000000055', '0.1000000000000000056'],
    ['9007199254740992', '9007199254740993'],
    ['1e-400', '0'],
    ['1e-400', '1e-401'],
    ['{"__proto__":{"a":1}}', '{}'],
    ['{"__proto__":{}}', '{"a":{}}'],
    ['{"__proto__":1}', '{"__proto__":2}'],
  ];
  for (const [a, b] of cases) t.equal(areSame(`{"v":${a}}`, `{"v":${b}}`), false, `${a} and ${b}`);
});

t.test('where sameness cannot be told cheaply, a different text is different content', async (t) => {
  const cases: [a: string, b: string][] = [
    ['{"n":18446744073709551615}', '{"n":18446744073709551615.0}'],
    ['{"n":1e300}', '{"n":10e299}'],
    ['{"\\\\":1,"b":2}', '{"b":2,"\\\\":1}'],
    ['{"a\\"":1,"b":2}', '{"b":2,"a\\"":1}'],
    [`{"t":"${'x'.repeat(5_000)}","b":2}`, `{"b":2,"t":"${'x'.repeat(5_000)}"}`],
  ];
  for (const [a, b] of cases) t.equal(areSame(a, b), false, `${a} and ${b}`.slice(0, 60));
});

t.test('texts of nothing but escapes are compared, and that comes to an end', (t) => {
  const texts = ['\\n', '\\\\', '\\u00e9'].map((part) => `"t":"${part.repeat(4_000 / part.length)}"`);
  for (const text of texts) {
    const [first, second] = [withPayload(`{${text},"v":1}`), withPayload(`{${text},"v":2}`)];
    t.equal(sameContent(first, second), false, text.slice(0, 12));
  }
  t.end();
});

t.test('what is called the same is the same, for any two payloads', async () => {
  const alike = fc.constantFrom('0', '-0', '0.0', '1', '10e-1', '18446744073709551615', '[]', '{}');
  const values = fc.oneof(
    alike,
    jsonValue.map(({ text }) => text),
  );
  const payloads = fc.oneof(
    values.map((text) => `{"a":1,"b":${text}}`),
    values.map((text) => `{ "b":${text}, "a":1.0 }`),
  );
  const property = fc.property(payloads, payloads, (a, b) => !areSame(a, b) || canonical(a) === canonical(b));
  fc.assert(property, numRuns(2_000));
  fc.assert(fc.property(jsonObject, ({ text }) => areSame(text, ` ${text}\n`)));
});

t.test(
  'comparing does not disturb the names of what JSON.parse reads later (nodejs/node#63785)',
  async (t) => {
    // It needs a member before it that no other test has.
    areSame('{"lens":1,"\\\\":2}', '{"\\\\":2,"lens":1}');
    t.strictSame(Object.keys(JSON.parse('{"lens":1,"\\u00e9":2}')), ['lens', 'é']);
  },
);

t.test('names that are spelled with escapes are kept as they are spelled', async (t) => {
  for (const payload of ['{"lens":1,"\\\\":2}', '{"lens":1,"\\u00e9":2}', '{"lens":1,"é":2}']) {
    t.equal(withPayload(payload).payload, payload);
  }
});
