import { isExactNumber } from './json.ts';
import { EVENT_DEPTH_LEVELS } from './limits.ts';

/**
 * One look over a body's bytes before JSON.parse sees them: eight MiB of `[` would cost JSON.parse a second and
 * hundreds of MiB (design 2). It does not check the grammar; JSON.parse does.
 */
export interface Scan {
  /** What the body starts as. */
  readonly top: 'array' | 'object' | 'other';
  /** Elements of the array (0 for the others): commas at its level, plus one. */
  readonly count: number;
  /** The index of the first event that is nested too deep, or -1; the scan ends there. */
  readonly tooDeepAt: number;
  /** Whether a number stands somewhere that a double cannot hold. */
  readonly inexact: boolean;
  /** Whether a member's name holds a backslash: JSON.parse must not see it (exact.ts). */
  readonly oddName: boolean;
}

const [QUOTE, COMMA, MINUS, DOT, ZERO, NINE] = [0x22, 0x2c, 0x2d, 0x2e, 0x30, 0x39];
const [COLON, BACKSLASH] = [0x3a, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Up to this many digits, any decimal survives a round trip through a double (IEEE 754, DBL_DIG). */
const SAFE_DIGITS = 15;

/** @param bytes UTF-8; inside strings only the quote and the backslash matter, which no other character contains. */
export function scanJson(bytes: Uint8Array): Scan {
  const end = bytes.length;
  let at = skipSpace(bytes, 0);
  const top = bytes[at] === OPEN_ARRAY ? 'array' : bytes[at] === OPEN_OBJECT ? 'object' : 'other';
  const deepest = EVENT_DEPTH_LEVELS + (top === 'array' ? 1 : 0);
  let depth = 0;
  let commas = 0;
  let inexact = false;
  let oddName = false;
  for (; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      const open = at;
      let escapes = 0;
      for (at++; at < end && bytes[at] !== QUOTE; at++) {
        if (bytes[at] !== BACKSLASH) continue;
        escapes++;
        at++;
      }
      if (escapes > 0 && !oddName) oddName = isOddName(bytes, open, at);
    } else if (byte === COMMA) {
      if (depth === 1) commas++;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (++depth > deepest)
        return { top, count: commas + 1, tooDeepAt: top === 'array' ? commas : 0, inexact, oddName };
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth--;
    } else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) {
      const stop = endOfNumber(bytes, at);
      if (!inexact) inexact = isSuspect(bytes, at, stop) && !isExactNumber(ascii(bytes, at, stop));
      at = stop - 1;
    }
  }
  const empty = bytes[skipSpace(bytes, skipSpace(bytes, 0) + 1)] === CLOSE_ARRAY;
  return { top, count: top !== 'array' || empty ? 0 : commas + 1, tooDeepAt: -1, inexact, oddName };
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}

/** @returns whether the string between these two quotes is a member's name with a backslash in it. */
function isOddName(bytes: Uint8Array, open: number, close: number): boolean {
  if (bytes[skipSpace(bytes, close + 1)] !== COLON) return false;
  const name = ascii(bytes, open, close);
  // Two backslashes side by side are always an escaped one.
  return name.includes('\\\\') || /\\u005c/i.test(name);
}

function endOfNumber(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  for (; at < bytes.length; at++) {
    const byte = bytes[at]!;
    const isPart =
      (byte >= ZERO && byte <= NINE) || byte === DOT || isExponent(byte) || byte === 0x2b || byte === MINUS;
    if (!isPart) break;
  }
  return at;
}

/** Cheap and on the safe side: long numbers, exponents, and zeros with a minus. */
function isSuspect(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from > SAFE_DIGITS) return true;
  let nonZero = false;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (isExponent(byte)) return true;
    if (byte > ZERO && byte <= NINE) nonZero = true;
  }
  return bytes[from] === MINUS && !nonZero;
}

function isExponent(byte: number): boolean {
  return byte === 0x65 || byte === 0x45;
}

function ascii(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');
}
