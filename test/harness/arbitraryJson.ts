import fc from 'fast-check';
import { parseJson } from './jsonOracle.ts';

/** JSON text with what it means, reckoned while it was made and not by parsing it. */
interface JsonText {
  readonly text: string;
  /** One spelling for all texts of one value: members sorted, last duplicate only, numbers by exact value. */
  readonly canon: string;
}

/** Any character. fast-check's own, the unit "binary", takes a second of processor time: it makes a map of all million of them. */
const character: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));

const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r ');
const anyString = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toJSON', '', 'a', 'b', '0', '\\', '"', '[{,}]', '\u2028'),
  fc.string({ unit: character, maxLength: 8 }),
  fc
    .array(fc.integer({ min: 0xd7f0, max: 0xe00f }), { maxLength: 4 })
    .map((units) => String.fromCharCode(...units)),
);

/** Every string has several spellings; a lone surrogate only has the escaped one. */
const stringText = fc
  .tuple(anyString, fc.boolean())
  .map(([value, escaped]): [text: string, value: string] => {
    if (!escaped) return [JSON.stringify(value), value];
    const units = Array.from({ length: value.length }, (_, i) => value.charCodeAt(i));
    return [`"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`, value];
  });

const digits = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength });

/** Any number of the JSON grammar that is not too large for a double; most have more digits than one holds. */
export const numberText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('0', '-0', '-0.0', '-0e9', '1e-400', '9007199254740993', '18446744073709551615', '0.10'),
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc
    .record({
      sign: fc.constantFrom('', '-'),
      whole: digits(25),
      fraction: fc.option(digits(25)),
      exponent: fc.option(
        fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.integer({ min: 0, max: 250 })),
      ),
    })
    .map(({ sign, whole, fraction, exponent }) => {
      const head = sign + whole.replace(/^0+(?=\d)/, '');
      return `${head}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : exponent.join('')}`;
    }),
);

/** @returns a number's exact value in one spelling, by integer arithmetic; the sign of zero is kept. */
function exactValue(source: string): string {
  const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  let value = BigInt(whole.replace('-', '') + fraction);
  let power = BigInt(exponent.replace('+', '')) - BigInt(fraction.length);
  if (value === 0n) power = 0n;
  while (value !== 0n && value % 10n === 0n) {
    value /= 10n;
    power++;
  }
  return `${source.startsWith('-') ? '-' : ''}${value}e${power}`;
}

const { value, object, array } = fc.letrec<{ value: JsonText; object: JsonText; array: JsonText }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('true', 'false', 'null').map((text) => ({ text, canon: text })),
    numberText.map((text) => ({ text, canon: exactValue(text) })),
    stringText.map(([text, content]) => ({ text, canon: JSON.stringify(content) })),
    tie('object'),
    tie('array'),
  ),
  object: fc
    .tuple(fc.array(fc.tuple(stringText, tie('value')), { maxLength: 5 }), space)
    .map(([members, gap]) => objectText(members, gap)),
  array: fc
    .tuple(fc.array(tie('value'), { maxLength: 4 }), space)
    .map(([items, gap]) => arrayText(items, gap)),
}));

export const jsonValue: fc.Arbitrary<JsonText> = value;
export const jsonObject: fc.Arbitrary<JsonText> = object;
export const jsonArray: fc.Arbitrary<JsonText> = array;

function objectText(members: [[text: string, key: string], JsonText][], gap: string): JsonText {
  const text = members.map(([[key], { text }]) => `${gap}${key}${gap}:${gap}${text}${gap}`).join(',');
  // A Map keeps the last of duplicate members, as JSON.parse must.
  const canon = canonicalMembers(new Map(members.map(([[, key], { canon }]) => [key, canon])));
  return { text: `{${text || gap}}`, canon };
}

function arrayText(items: JsonText[], gap: string): JsonText {
  const text = items.map(({ text }) => `${gap}${text}${gap}`).join(',');
  return { text: `[${text || gap}]`, canon: `[${items.map(({ canon }) => canon).join(',')}]` };
}

function canonicalMembers(members: Map<string, string>): string {
  const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, canon]) => `${JSON.stringify(key)}:${canon}`).join(',')}}`;
}

class Exact {
  readonly value: string;

  constructor(source: string) {
    this.value = exactValue(source);
  }
}

/** @returns the same spelling as `JsonText.canon`, for text that was not made here. */
export function canonical(text: string): string {
  return canonicalOf(parseJson(text, (source) => new Exact(source)));
}

/** @returns one spelling for a value, whatever the order of its members. */
export function canonicalOf(value: unknown): string {
  if (value instanceof Exact) return value.value;
  if (Array.isArray(value)) return `[${value.map(canonicalOf).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return canonicalMembers(new Map(Object.entries(value).map(([key, member]) => [key, canonicalOf(member)])));
}
