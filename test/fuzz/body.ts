import fc from 'fast-check';
import { BATCH_EVENTS, EVENT_DEPTH_LEVELS, SMALL_BODY_BYTES } from '../../src/base/limits.ts';
import { jsonObject, jsonValue, numberText } from '../harness/arbitraryJson.ts';
import { character } from '../harness/character.ts';
import { FUZZ_BODY_LIMIT_BYTES, PACKINGS, packed, type Rendered } from './packing.ts';

/** Bodies that were valid once: events with odd fields, odd texts around them, odd packing. All of it is data, to be shrunk. */

/** A field and its JSON text; undefined leaves the field out. */
type Field = readonly [name: string, text: string | undefined];

type Edit = readonly [how: 'insert' | 'remove' | 'replace' | 'end', at: number, text: string];

export interface FuzzBody {
  readonly events: readonly (readonly Field[])[];
  /** Plain events besides. */
  readonly more: number;
  readonly isArray: boolean;
  /** Spaces at the end, to make it large. */
  readonly spaces: number;
  /** `at` is a part of its length. */
  readonly edits: readonly Edit[];
  readonly packing: (typeof PACKINGS)[number];
}

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const oddTexts = fc.constantFrom(
  ...[
    'null',
    'true',
    '""',
    '"\\u0000"',
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"é"',
    `"${'x'.repeat(257)}"`,
    '[]',
    '{}',
    '[[]]',
  ],
  ...[
    '{"x_ft":"1"}',
    '{"x_ft":1e400}',
    '{"__proto__":{"x":1}}',
    '{"a":1,"a":2}',
    '{"\\u005c":1}',
    '{"toJSON":1}',
  ],
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '1.5',
    '1e400',
    '-1e-400',
    '2147483647',
    '2147483648',
    '1773500966535',
    '9007199254740991',
    '9007199254740991.4',
    '9007199254740993',
    '01',
    '1.',
    '+1',
    'NaN',
  ],
  ...[
    '"1.0"',
    '"1.999"',
    '"2.0"',
    '"BALL_HIT"',
    '"2026-02-29T00:00Z"',
    '"2024-02-29T23:59:60Z"',
    '"20240229 240000,0-23"',
    '"1677-01-01T00:00Z"',
  ],
  ...[EVENT_DEPTH_LEVELS - 2, EVENT_DEPTH_LEVELS - 1, EVENT_DEPTH_LEVELS, 5_000].map(nested),
  ...['"unclosed', '"\t"', "'a'", '[1,]', '{"a":}', '{,}', '// comment', '\u2028'],
);
const names = fc.constantFrom(
  ...[
    'event_id',
    'session_id',
    'venue_id',
    'court_id',
    'eot',
    'type',
    'confidence',
    'source',
    'schema_version',
  ],
  ...['revision', 'payload', 'unknown', '__proto__', 'constructor', 'a.b', '', '\\', 'payload '],
);
const anyText = fc.oneof(
  { weight: 5, arbitrary: oddTexts },
  numberText,
  jsonValue.map(({ text }) => text),
  jsonObject.map(({ text }) => text),
);
const field: fc.Arbitrary<Field> = fc.tuple(names, fc.option(anyText, { nil: undefined, freq: 8 }));
const someEvent = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Field[]>([]) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('payload', 'unknown'),
        jsonObject.map(({ text }) => text),
      )
      .map((one) => [one as Field]),
  },
  { weight: 2, arbitrary: fc.array(field, { minLength: 1, maxLength: 3 }) },
);
const edit: fc.Arbitrary<Edit> = fc.tuple(
  fc.constantFrom('insert', 'remove', 'replace', 'end'),
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.oneof(
    fc.constantFrom(
      ...[
        '"',
        '\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '\0',
        '\xff',
        '\xef\xbb\xbf',
        '\xed\xa0\x80',
        '\xc0\xaf',
        ' ',
        '1',
        '\r\n',
      ],
    ),
    fc.string({ unit: character, maxLength: 6 }),
  ),
);

export const fuzzBody: fc.Arbitrary<FuzzBody> = fc.record({
  events: fc.array(someEvent, { maxLength: 5 }),
  more: fc.oneof(
    { weight: 20, arbitrary: fc.nat({ max: 3 }) },
    { weight: 1, arbitrary: fc.constantFrom(BATCH_EVENTS - 2, BATCH_EVENTS, BATCH_EVENTS + 1) },
  ),
  isArray: fc.boolean(),
  spaces: fc.oneof(
    { weight: 20, arbitrary: fc.constant(0) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        SMALL_BODY_BYTES,
        4 * SMALL_BODY_BYTES,
        FUZZ_BODY_LIMIT_BYTES - 5_000,
        FUZZ_BODY_LIMIT_BYTES,
      ),
    },
  ),
  edits: fc.oneof(
    { weight: 3, arbitrary: fc.constant<Edit[]>([]) },
    { weight: 1, arbitrary: fc.array(edit, { minLength: 1, maxLength: 3 }) },
  ),
  packing: fc.oneof(
    { weight: 4, arbitrary: fc.constant<FuzzBody['packing']>('none') },
    fc.constantFrom(...PACKINGS),
  ),
});

export const PLAIN_BODY: FuzzBody = {
  events: [[]],
  more: 0,
  isArray: false,
  spaces: 0,
  edits: [],
  packing: 'none',
};

/** @param unique is in every event_id and payload that the body does not choose itself. */
export function renderBody(body: FuzzBody, unique: string): Rendered {
  const all = [...body.events, ...Array.from({ length: body.more }, () => [])];
  const texts = all.map((fields, i) => eventText(fields, unique, i));
  const text = body.isArray || texts.length !== 1 ? `[${texts.join(',')}]` : texts[0]!;
  let bytes = Buffer.from(text + ' '.repeat(body.spaces));
  for (const one of body.edits) bytes = edited(bytes, one);
  return packed(bytes, body.packing);
}

function eventText(fields: readonly Field[], unique: string, index: number): string {
  const members = new Map<string, string | undefined>([
    ['event_id', `"e${index}-${unique}"`],
    ['session_id', '"fuzz"'],
    ['venue_id', '"v"'],
    ['court_id', '"c"'],
    ['eot', '"2026-03-14T15:09:26.535Z"'],
    ['type', '"BALL_BOUNCE"'],
    ['confidence', '0.97'],
    ['source', '"fuzz"'],
    ['schema_version', '"1.0"'],
    ['payload', `{"x_ft":12.5,"is_in":true,"of":"e${index}-${unique}"}`],
    ...fields,
  ]);
  const kept = [...members].filter(([, text]) => text !== undefined);
  return `{${kept.map(([name, text]) => `"${name}":${text}`).join(',')}}`;
}

function edited(bytes: Buffer, [how, part, text]: Edit): Buffer<ArrayBuffer> {
  const at = Math.floor(part * bytes.length);
  const what = Buffer.from(text, 'latin1');
  if (how === 'end') return Buffer.from(bytes.subarray(0, at));
  const rest = how === 'insert' ? at : at + Math.max(1, what.length);
  const middle = how === 'remove' ? [] : [what];
  return Buffer.concat([bytes.subarray(0, at), ...middle, bytes.subarray(rest)]);
}
