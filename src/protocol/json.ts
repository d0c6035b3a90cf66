import { isDeepStrictEqual } from 'node:util';
import { parseJson } from './exact.ts';

/**
 * Numbers that a double cannot hold (design 2): JSON text keeps them, JSON.parse does not. Here is how their
 * source text gets from the body to the store and back, and how two JSON texts are compared.
 */

declare global {
  // ECMAScript 2026 "JSON.parse source text access", in V8 since 11.4 and not yet in TypeScript's library.
  interface JSON {
    rawJSON(source: string): object;
  }
}

/** @returns whether a double holds this JSON number: 0.10 and 1e2 are held, 2^53 + 1, 1e400 and -0 are not (as text). */
export function isExactNumber(source: string): boolean {
  if (isPlain(source)) return true;
  const asWritten = String(Number(source));
  return asWritten === source || decimal(asWritten) === decimal(source);
}

/**
 * Like JSON.parse, but a number that a double cannot hold becomes JSON.rawJSON of its source text, which
 * JSON.stringify writes back unchanged.
 * @throws {SyntaxError}
 */
export function parseExact(text: string): unknown {
  return parseJson(text, (source) => (isExactNumber(source) ? Number(source) : JSON.rawJSON(source)));
}

/** @returns whether two JSON texts mean the same value: member order and the spelling of numbers aside. */
export function sameJson(a: string, b: string): boolean {
  return a === b || isDeepStrictEqual(parseComparable(a), parseComparable(b));
}

/**
 * Visits every number too large for a double (1e400 parses as Infinity).
 * @param found gets the names that lead there, in a list that changes behind it, since a body can hold a million of
 * them and few are listed; it returns whether to go on.
 */
export function eachInfinite(value: unknown, found: (names: readonly string[]) => boolean): void {
  const names: string[] = [];
  const visit = (part: unknown): boolean => {
    if (typeof part === 'number' && !Number.isFinite(part)) return found(names);
    if (typeof part !== 'object' || part === null) return true;
    for (const name of Object.keys(part)) {
      names.push(name);
      if (!visit((part as Record<string, unknown>)[name])) return false;
      names.pop();
    }
    return true;
  };
  visit(value);
}

/** Up to 15 digits, no exponent, no minus before a zero: any such decimal survives a double (IEEE 754, DBL_DIG). */
function isPlain(source: string): boolean {
  return source.length <= 16 && PLAIN.test(source);
}

const PLAIN = /^-?[1-9]\d{0,14}$|^(?=[\d.]{1,16}$)\d+\.\d+$|^0$/;

/** A number's value in a form that two spellings share: sign, significant digits, power of ten. */
function decimal(source: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source);
  if (match === null) return source;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const all = whole + fraction;
  // Loops, not /0+$/: that is quadratic in a long run of zeros, and the text comes from a stranger.
  let first = 0;
  while (all[first] === '0') first++;
  let last = all.length;
  while (last > first && all[last - 1] === '0') last--;
  if (first === last) return `${sign}0`;
  const power = Number(exponent) - fraction.length + (all.length - last);
  return `${sign}${all.slice(first, last)}e${power}`;
}

/** Exact numbers stay numbers; others become an object that no JSON value can be equal to by accident. */
function parseComparable(text: string): unknown {
  return parseJson(text, (source) =>
    isExactNumber(source) ? Number(source) : new InexactNumber(decimal(source)),
  );
}

class InexactNumber {
  readonly decimal: string;

  constructor(value: string) {
    this.decimal = value;
  }
}
