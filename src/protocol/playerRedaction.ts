import type { CourtEvent } from './courtEvent.ts';
import { MEMBERS, PAYLOAD_FIELDS, TYPES } from './eventTypes.ts';
import { payloadCells } from './payload.ts';

/** How a person is taken out of events (../../ARCHITECTURE.md#erasure). */

/** A string of a JSON text. */
interface JsonString {
  /** From its first quote to behind all of this. */
  readonly from: number;
  readonly to: number;
  /** The text between the quotes. */
  readonly inner: string;
  /** The colon and the space around it, if this is the name of a member; else ''. */
  readonly colon: string;
  /** The value of that member, if it is no string, object or array; else ''. */
  readonly bare: string;
}

/** What may follow a string. */
const BEHIND = /(\s*:\s*)(-?\d[\d.eE+-]*|true|false)?/y;

/**
 * @yields the strings of a JSON text in time that grows with its length alone, whatever it holds: a regular expression would try again
 * at each quote of a string without an end, and need the stack for each escape of a long one. Nothing behind such a string.
 */
function* stringsOf(json: string): Generator<JsonString> {
  for (let from = json.indexOf('"'); from >= 0; ) {
    const end = endOf(json, from);
    if (end < 0) return;
    BEHIND.lastIndex = end;
    const [whole = '', colon = '', bare = ''] = BEHIND.exec(json) ?? [];
    const to = end + whole.length;
    yield { from, to, inner: json.slice(from + 1, end - 1), colon, bare };
    from = json.indexOf('"', to);
  }
}

/** @returns behind the closing quote of the string that begins there; -1 if it has none. */
function endOf(json: string, from: number): number {
  for (let quote = json.indexOf('"', from + 1); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    if (slashesBefore(json, quote) % 2 === 0) return quote + 1;
  }
  return -1;
}

function slashesBefore(text: string, at: number): number {
  let count = 0;
  while (text[at - 1 - count] === '\\') count++;
  return count;
}

/** The texts of an event that may name a player. */
type Texts = Pick<CourtEvent, 'payload' | 'extra'>;

/**
 * @param json a JSON text, or the beginning of one.
 * @param nameOf what a player is replaced with; undefined: nothing.
 * @returns the same text with other strings, wherever they are values or names of members that the protocol does not know, and other
 * numbers of players; `json` itself if none is. A short one stays in a field that is about something else: `smash` as a shot type.
 */
export function replacePlayers(json: string, nameOf: (player: string) => string | undefined): string {
  let [replaced, at, aboutElse] = ['', 0, -1];
  for (const { from, to, inner, colon, bare } of stringsOf(json)) {
    const value = decoded(inner);
    const isOther = colon === '' ? from === aboutElse && !isTelling(value) : Object.hasOwn(MEMBERS, value);
    aboutElse = colon !== '' && isAboutElse(value) ? to : -1;
    const name = isOther ? undefined : nameOf(value);
    const numbered = name === undefined && value === 'player_id' && bare !== '' ? nameOf(bare) : undefined;
    if (name !== undefined) replaced += json.slice(at, from) + JSON.stringify(name) + colon + bare;
    else if (numbered !== undefined) replaced += json.slice(at, to - bare.length) + JSON.stringify(numbered);
    else continue;
    at = to;
  }
  return at === 0 ? json : replaced + json.slice(at);
}

/** @yields each value of a `player_id` at any depth: a number by its digits. @param json a JSON text. */
export function* playersNamed(json: string): Generator<string> {
  let valueAt: number | undefined;
  for (const { from, to, inner, colon, bare } of stringsOf(json)) {
    const value = decoded(inner);
    if (from === valueAt && colon === '' && value !== '') yield value;
    const isName = colon !== '' && value === 'player_id';
    if (isName && bare !== '') yield bare;
    valueAt = isName ? to : undefined;
  }
}

/**
 * @param text JSON, or a rejected body that is not JSON: cut off, or with an extra quote.
 * @returns whether one of its strings is one of those, as a value or as the name of a member, or a number that names a player.
 */
export function mentions(text: string, isOne: (value: string) => boolean): boolean {
  let isFound = false;
  // Truncated text ends here, perhaps in the middle of an escape.
  const closed = `${text}${slashesBefore(text, text.length) % 2 === 0 ? '' : '\\'}"`;
  // After an extra quote, the text between strings is a string.
  for (const from of [0, text.indexOf('"') + 1]) {
    replacePlayers(closed.slice(from), (value) => {
      isFound ||= isOne(value);
      return undefined;
    });
  }
  return isFound;
}

/** Shorter ids are part of words that have nothing to do with them. */
const TELLING_CHARS = 6;

/** @returns whether an id means the player wherever it occurs: a short one, or one like `x_ft`, does so only as a value. */
function isTelling(player: string): boolean {
  return player.length >= TELLING_CHARS && !Object.hasOwn(MEMBERS, player);
}

/** @returns whether a field of a payload is known to be about something else than a player. */
function isAboutElse(field: string): boolean {
  return field !== 'player_id' && (PAYLOAD_FIELDS as readonly string[]).includes(field);
}

/** Looks for players in a rejected body. */
export type Naming = (text: string) => boolean;

/** @returns whether a text names a player, if it is JSON or what `mentions` takes. */
export function naming(player: string): Naming {
  const word = wordOf(player);
  return (text) => (isTelling(player) && word.test(text)) || mentions(text, (value) => value === player);
}

/** It does not match a part of a longer word, `player-7` in `player-70`, but a word behind an escape of JSON. */
function wordOf(text: string): RegExp {
  const word = RegExp.escape(text);
  // The word comes first, because V8 finds a text faster than the place before it.
  const begins = '^|[^\\p{L}\\p{N}]|\\\\[bfnrt]|\\\\u[\\da-fA-F]{4}';
  return new RegExp(`${word}(?<=(?:${begins})${word})(?![\\p{L}\\p{N}])`, 'u');
}

/** @returns whether a rejected body may name a player: one that is compressed, or in another encoding than UTF-8, cannot be read. */
export function mayName(names: Naming): Naming {
  return (text) => UNREADABLE.test(text) || names(text);
}

const UNREADABLE = /\0|\ufffd/;

/** @param inner the text between the quotes. */
function decoded(inner: string): string {
  if (!inner.includes('\\')) return inner;
  try {
    return JSON.parse(`"${inner}"`);
  } catch {
    // The text is cut off, or damaged.
    return inner;
  }
}

const PLAYER_ID = PAYLOAD_FIELDS.indexOf('player_id');

/**
 * @returns the value of `payload.player_id`, a number by its digits, as the columns have it; undefined if absent or an empty text.
 * @param payload JSON text of an object.
 */
export function playerOf(payload: string): string | undefined {
  if (!payload.includes('player_id') && !payload.includes('\\')) return undefined;
  try {
    return payloadCells(payload)[PLAYER_ID] || undefined;
  } catch {
    return undefined;
  }
}

/**
 * Renames players wherever they are named, as headquarters gets them under pseudonyms.
 * @returns undefined if none is.
 */
export function renamePlayers(
  { payload, extra }: Texts,
  nameOf: (player: string) => string | undefined,
): Texts | undefined {
  const renamed = {
    payload: replacePlayers(payload, nameOf),
    extra: extra === null ? null : replacePlayers(extra, nameOf),
  };
  return renamed.payload === payload && renamed.extra === extra ? undefined : renamed;
}

/**
 * Takes players out of an event: their own positions and identities lose everything, and elsewhere they get another name.
 * @param nameOf the new name of an erased player.
 * @returns the redacted event; undefined if it names no erased player.
 */
export function redact(
  event: Texts & Pick<CourtEvent, 'type'>,
  nameOf: (player: string) => string | undefined,
): Texts | undefined {
  const renamed = renamePlayers(event, nameOf);
  if (renamed === undefined || TYPES[event.type].about !== 'player') return renamed;
  const player = playerOf(event.payload);
  return player !== undefined && nameOf(player) !== undefined ? NOTHING : renamed;
}

/** The redacted event, if it is about no other player. */
export const NOTHING: Texts = { payload: '{}', extra: null };
