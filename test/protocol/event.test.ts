import { inspect } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { type CourtEvent, eventToJson } from '../../src/protocol/event.ts';
import { EVENT_TYPES } from '../../src/protocol/eventTypes.ts';
import { character } from '../harness/character.ts';
import { jsonOf, refusal } from '../harness/decodeRefusal.ts';
import { event, eventText } from '../harness/events.ts';

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
    good: ['1', '1.0', '1.9', '1.10', '1.999', '1.00', '1.0.0', '1.2.345', '1.999.999'],
    bad: [
      ...[
        '',
        '1.',
        '1..0',
        '1.0.',
        '1.0.1000',
        '1.0.0.0',
        '10',
        '.0',
        '1.1000',
        '2.0',
        '0.9',
        '11.0',
        '01.0',
        'v1.0',
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
    good: [undefined, null, 0, -0, 1, 2_147_483_648, 2 ** 53 - 1],
    bad: [-1, 2 ** 53, 0.5, 1e300, '0', '', true, false, [], {}, TOO_LARGE],
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

/** Of a bounce: in the payload of another type, and in another field, anything goes but a number that is too large. */
const PAYLOAD: readonly Bounds[] = [
  { fields: ['x_ft', 'y_ft'], good: [undefined, null, 0, -1.5], bad: ['1', '', true, [], {}, TOO_LARGE] },
  { fields: ['is_in'], good: [undefined, null, true, false], bad: [0, 1, 'true', '', [], {}, TOO_LARGE] },
  {
    fields: ['kmh', 'player_id', 'shot_type', 'swing_type'],
    good: [undefined, null, 0, '', BALL, true, [], {}],
    bad: [TOO_LARGE, -TOO_LARGE],
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
  t.equal(JSON.parse(eventToJson(read(event({ revision: 2 ** 53 - 1 })))).revision, 2 ** 53 - 1);
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

t.test('names that are spelled with escapes are kept as they are spelled', async (t) => {
  for (const payload of ['{"lens":1,"\\\\":2}', '{"lens":1,"\\u00e9":2}', '{"lens":1,"é":2}']) {
    const sent = Buffer.from(eventText({ payload }, { event_id: 'e-1' }));
    t.equal(decodeBatch(sent)[0]?.payload, payload);
  }
});
