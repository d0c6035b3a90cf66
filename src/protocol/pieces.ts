import { parseJson } from './exact.ts';
import { eachInfinite, parseExact } from './json.ts';
import { PIECE_CHARS } from './limits.ts';
import type { Scan } from './scan.ts';

/**
 * JSON that is too large to be there as values all at once: eight MiB of `{}` would be 180 MiB of them. It is parsed
 * in pieces, and each is text again before the next one is parsed.
 */

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const CLOSING: Readonly<Record<string, string>> = { '[': ']', '{': '}' };

export type Reading = Pick<Scan, 'inexact' | 'oddName'>;

/** @returns the value as JSON.parse gives it. @throws {SyntaxError} */
export function parseSent(text: string, { oddName }: Reading): unknown {
  // JSON.parse must not see such a text (exact.ts).
  return oddName ? parseJson(text, Number) : JSON.parse(text);
}

/** @returns whether a number in it is too large for a double; looks only where there may be one. */
export function hasInfinity(value: unknown, { inexact }: Reading): boolean {
  let isThere = false;
  if (inexact) {
    eachInfinite(value, () => {
      isThere = true;
      return false;
    });
  }
  return isThere;
}

/** A text of the same value without the space in it, and whether a number in it is too large for a double. */
export interface Compact {
  readonly text: string;
  readonly isInfinite: boolean;
}

/**
 * @param text one value, with no space around it.
 * @throws {SyntaxError} where it is not JSON.
 */
export function compact(text: string, reading: Reading): Compact {
  const [open = ''] = text;
  const close = CLOSING[open];
  if (text.length <= PIECE_CHARS || close === undefined) return compactAtOnce(text, reading);
  const texts: string[] = [];
  let isInfinite = false;
  const add = (text: string, piece: Compact) => {
    texts.push(text);
    isInfinite ||= piece.isInfinite;
  };
  // Small members go together, as many as fit into a piece; a large one is taken apart itself.
  let group: { from: number; to: number } | undefined;
  const flush = () => {
    if (group === undefined) return;
    const piece = compactAtOnce(open + text.slice(group.from, group.to) + close, reading);
    // An empty list is one, but nothing between two commas is not a member.
    if (piece.text.length === 2) throw new SyntaxError('a member is missing');
    add(piece.text.slice(1, -1), piece);
    group = undefined;
  };
  for (const [from, to] of membersOf(text)) {
    if (group !== undefined && to - group.from > PIECE_CHARS) flush();
    if (to - from <= PIECE_CHARS) {
      group = { from: group?.from ?? from, to };
    } else if (open === '[') {
      const piece = compact(trim(text.slice(from, to)), reading);
      add(piece.text, piece);
    } else {
      const { name, value } = nameAndValue(text.slice(from, to));
      const piece = compact(value, reading);
      add(`${JSON.stringify(name)}:${piece.text}`, piece);
    }
  }
  flush();
  return { text: `${open}${texts.join(',')}${close}`, isInfinite };
}

function compactAtOnce(text: string, reading: Reading): Compact {
  const sent = parseSent(text, reading);
  // What is kept is what was sent, digit for digit; the second parse is only for texts that need it.
  const kept = reading.inexact ? parseExact(text) : sent;
  return { text: JSON.stringify(kept), isInfinite: hasInfinity(sent, reading) };
}

/**
 * Where each member of a list stands, with the space around it, and without the commas. The members' own grammar is not
 * looked at: one may be blank, where the list is not.
 * @param text from its opening bracket to its closing one.
 * @throws {SyntaxError}
 */
export function* membersOf(text: string): Generator<readonly [from: number, to: number]> {
  const last = text.length - 1;
  if (text[last] !== CLOSING[text[0] ?? '']) throw new SyntaxError('the list does not end at its end');
  if (trim(text.slice(1, last)) === '') return;
  let from = 1;
  let depth = 0;
  for (let at = 1; at < last; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === COMMA && depth === 0) {
      yield [from, at];
      from = at + 1;
    } else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      depth++;
    } else if ((code === CLOSE_ARRAY || code === CLOSE_OBJECT) && --depth < 0) {
      break;
    }
  }
  if (depth !== 0 || text[last] !== CLOSING[text[0] ?? ''])
    throw new SyntaxError('the list does not end at its end');
  yield [from, last];
}

/** @param member of an object. @throws {SyntaxError} */
export function nameAndValue(member: string): { name: string; value: string } {
  const text = trim(member);
  if (text.charCodeAt(0) !== QUOTE) throw new SyntaxError('a name is missing');
  const end = endOfString(text, 0) + 1;
  const rest = trim(text.slice(end));
  if (rest[0] !== ':') throw new SyntaxError('a colon is missing');
  return { name: JSON.parse(text.slice(0, end)) as string, value: trim(rest.slice(1)) };
}

/** Takes away the space of JSON, which is less than what String.trim takes. */
export function trim(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isSpace(text.charCodeAt(from))) from++;
  while (to > from && isSpace(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** @returns where its closing quote is. */
function endOfString(text: string, open: number): number {
  for (let at = open + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  throw new SyntaxError('a string does not end');
}
