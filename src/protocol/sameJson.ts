import { isDeepStrictEqual } from 'node:util';
import { COMPARED_CHARS } from '../base/limits.ts';

/**
 * @returns whether two JSON texts are the same value: member order and the spelling of numbers and strings do not count. Texts above
 * COMPARED_CHARS are not parsed, because this runs inside the transaction that other requests wait for, and neither are texts that
 * JSON.parse does not read exactly: those are the same only if they are equal, character by character.
 * @throws {SyntaxError} if a text that is parsed is not JSON.
 */
export function sameJson(a: string, b: string): boolean {
  if (a === b) return true;
  if (a.length + b.length > 2 * COMPARED_CHARS || !isSafeToParse(a) || !isSafeToParse(b)) return false;
  return isDeepStrictEqual(JSON.parse(a), JSON.parse(b));
}

/** Whether JSON.parse is exact for this text: it rounds long numbers, and confuses escaped member names (jsonReader.ts). */
function isSafeToParse(text: string): boolean {
  const withoutStrings = text.replace(STRINGS, (string, colon) =>
    colon && string.includes('\\') ? '\\' : '',
  );
  return !UNSAFE.test(withoutStrings);
}

/**
 * A string, with the colon that follows a member name. Matches one whole string after the other: a pattern that looks for an
 * escape first rescans the string from each escape on, 50 ms in a text of nothing but escapes.
 */
const STRINGS = /"[^"\\]*(?:\\.[^"\\]*)*"(:?)/g;
/** An escape, and a number that a double may not hold exactly: more than 15 digits (DBL_DIG), or an exponent of more than two digits. */
export const UNSAFE = /\\|\d{16}|[\d.]{17}|[eE][+-]?\d{3}/;
