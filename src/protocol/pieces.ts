import { parseJson } from './exact.ts';
import { eachInfinite, parseExact } from './json.ts';
import { PIECE_CHARS } from './limits.ts';
import type { Scan } from './scan.ts';
import { type Checked, Sketch } from './sketch.ts';

/**
 * JSON that is too large to be there as values all at once: eight MiB of `{}` would be 180 MiB of them. It is parsed
 * in pieces, and each is text again before the next one is parsed.
 */

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const CLOSING = { '[': ']', '{': '}' } as const;

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

/** A value as text, without the space in it, and what is checked of it. */
export interface Compact extends Checked {
  readonly text: string;
}

/**
 * Of duplicate members the last one wins, for whoever reads the text: where they stand far from each other, all of them
 * are in it. Names that are integers stay where they are, or come first within their piece, as with JSON.parse. To make
 * it the very text that JSON.stringify makes of the whole, all names would have to be there at once.
 *
 * @param text one value, with no space around it.
 * @param known names of its members, if it is an object, that are checked as values.
 * @throws {SyntaxError} where it is not JSON.
 */
export function compact(text: string, reading: Reading, known?: ReadonlySet<string>): Compact {
  const open = text[0];
  if (text.length <= PIECE_CHARS || (open !== '[' && open !== '{')) {
    const { sent, kept } = parseBoth(text, reading);
    return { text: JSON.stringify(kept), sent, unlisted: 0 };
  }
  const texts: string[] = [];
  const sketch = new Sketch(known);
  for (const members of piecesOf(text)) {
    if (members.length <= PIECE_CHARS) {
      const { sent, kept } = parseMembers(open, members, reading);
      sketch.addAll(sent, reading.inexact);
      texts.push(JSON.stringify(kept).slice(1, -1));
    } else if (open === '[') {
      const member = compact(trim(members), reading);
      sketch.add(undefined, member);
      texts.push(member.text);
    } else {
      const { name, value } = nameAndValue(members);
      const member = compact(value, reading);
      sketch.add(name, member);
      texts.push(`${JSON.stringify(name)}:${member.text}`);
    }
  }
  const { sent, unlisted } = sketch;
  const length = open === '[' ? { length: sketch.length } : {};
  return { text: `${open}${texts.join(',')}${CLOSING[open]}`, sent, unlisted, ...length };
}

/** @returns the value as JSON.parse gives it, and as it is kept: digit for digit. @throws {SyntaxError} */
export function parseBoth(text: string, reading: Reading): { sent: unknown; kept: unknown } {
  const sent = parseSent(text, reading);
  // The second parse is only for texts that need it.
  return { sent, kept: reading.inexact ? parseExact(text) : sent };
}

/** @param members that stood in a list side by side. @param open the list's bracket. @throws {SyntaxError} */
export function parseMembers(
  open: '[' | '{',
  members: string,
  reading: Reading,
): { sent: object; kept: object } {
  // An empty list is one, but nothing between two commas is not a member.
  if (trim(members) === '') throw new SyntaxError('a member is missing');
  return parseBoth(open + members + CLOSING[open], reading) as { sent: object; kept: object };
}

/**
 * The members of a list with the commas between them: small ones go together, as many as fit into a piece; a large one
 * comes alone.
 * @param text from its opening bracket to its closing one.
 * @throws {SyntaxError}
 */
export function* piecesOf(text: string): Generator<string> {
  let group: { from: number; to: number } | undefined;
  for (const [from, to] of membersOf(text)) {
    if (group !== undefined && to - group.from > PIECE_CHARS) {
      yield text.slice(group.from, group.to);
      group = undefined;
    }
    if (to - from > PIECE_CHARS) yield text.slice(from, to);
    else group = { from: group?.from ?? from, to };
  }
  if (group !== undefined) yield text.slice(group.from, group.to);
}

/**
 * Where each member of a list stands, with the space around it, and without the commas. The members' own grammar is not
 * looked at: one may be blank, where the list is not.
 * @param text from its opening bracket to its closing one.
 * @throws {SyntaxError}
 */
export function* membersOf(text: string): Generator<readonly [from: number, to: number]> {
  const last = text.length - 1;
  const close = text[0] === '[' ? ']' : '}';
  if (text[last] !== close) throw new SyntaxError('the list does not end at its end');
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
  if (depth !== 0) throw new SyntaxError('the list does not end at its end');
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
