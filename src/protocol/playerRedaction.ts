import type { CourtEvent } from './courtEvent.ts';
import { MEMBERS, PAYLOAD_FIELDS, TYPES } from './eventTypes.ts';
import { JsonReader } from './jsonReader.ts';
import { payloadCells } from './payload.ts';

/** How a person is taken out of events (../../ARCHITECTURE.md#erasure). */

/** The texts of an event that may name a player. They are JSON: they were stored. */
type Texts = Pick<CourtEvent, 'payload' | 'extra'>;

/**
 * Calls back for everything in a JSON text that may name a player: strings, names of members that the protocol does not know, and
 * numbers of players. A short string in a field that is about something else is not one: `smash` as a shot type.
 * @param on `field` is the member whose value it is.
 */
function visit(
  json: JsonReader,
  on: (player: string, from: number, to: number, field?: string) => void,
  field?: string,
): void {
  const from = json.at;
  if (json.peek() === '[') for (json.enter('['); json.nextElement(); ) visit(json, on);
  else if (json.peek() === '{')
    for (json.enter('{'); json.nextMember(); ) {
      const { name, nameFrom, nameTo } = json;
      if (!Object.hasOwn(MEMBERS, name)) on(name, nameFrom, nameTo);
      visit(json, on, name);
    }
  else {
    const value = json.read();
    const isPlayer = field === 'player_id';
    const isAboutElse = !isPlayer && (PAYLOAD_FIELDS as readonly unknown[]).includes(field);
    if (typeof value === 'string' && !(isAboutElse && !isTelling(value))) on(value, from, json.at, field);
    else if (isPlayer && value !== null) on(json.slice(from, json.at), from, json.at, field);
  }
}

/**
 * @param nameOf what a player is replaced with; undefined: nothing.
 * @returns the same JSON text with other names of players; `text` itself if it names none.
 */
export function replacePlayers(text: string, nameOf: (player: string) => string | undefined): string {
  const json = new JsonReader(text);
  let [replaced, done] = ['', 0];
  visit(json, (player, from, to) => {
    const name = nameOf(player);
    if (name === undefined) return;
    replaced += json.slice(done, from) + JSON.stringify(name);
    done = to;
  });
  return done === 0 ? text : replaced + json.slice(done);
}

/** @returns each value of a `player_id` at any depth: a number by its digits. @param text JSON. */
export function playersNamed(text: string): string[] {
  const players: string[] = [];
  visit(new JsonReader(text), (player, _from, _to, field) => {
    if (field === 'player_id' && player !== '') players.push(player);
  });
  return players;
}

/** A quote that is not escaped, or the end. */
const QUOTE = /"(?<=(?<!\\)(?:\\\\)*")|$/g;
/** What follows a name whose value is a number. */
const NUMBER = /^\s*:\s*([^\s,}\]]+)/;

/**
 * @param text whatever it is: damaged, cut off, or several JSON texts.
 * @returns whether one of those is between two quotes of it, or a number that names a player.
 */
export function mentions(text: string, isOne: (value: string) => boolean): boolean {
  let [from, previous] = [0, ''];
  for (const { index: to } of text.matchAll(QUOTE)) {
    const value = decoded(text.slice(from, to));
    const number = previous === 'player_id' ? NUMBER.exec(value)?.[1] : undefined;
    if (isOne(value) || (number !== undefined && isOne(number))) return true;
    [from, previous] = [to + 1, value];
  }
  return false;
}

/** Shorter ids are part of words that have nothing to do with them. */
const TELLING_CHARS = 6;

/** @returns whether an id means the player wherever it occurs: a short one, or one like `x_ft`, does so only as a value. */
function isTelling(player: string): boolean {
  return player.length >= TELLING_CHARS && !Object.hasOwn(MEMBERS, player);
}

/** Looks for players in a rejected body. */
export type Naming = (text: string) => boolean;

/** @returns whether a text names a player, as JSON or in words: `player-70` is another one than `player-7`. */
export function naming(player: string): Naming {
  const word = new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(player)}(?![\\p{L}\\p{N}])`, 'u');
  return (text) => mentions(text, (value) => value === player || (isTelling(player) && word.test(value)));
}

/** @returns whether a rejected body may name a player: one that is compressed, or in another encoding than UTF-8, cannot be read. */
export function mayName(names: Naming): Naming {
  return (text) => UNREADABLE.test(text) || names(text);
}

const UNREADABLE = /\0|\ufffd/;

/** @param inner the text between two quotes. */
function decoded(inner: string): string {
  try {
    return inner.includes('\\') ? JSON.parse(`"${inner}"`) : inner;
  } catch {
    // It is cut off, or damaged.
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
  return payloadCells(payload)[PLAYER_ID] || undefined;
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
  const owner = TYPES[event.type].about === 'player' ? playerOf(event.payload) : undefined;
  return owner !== undefined && nameOf(owner) !== undefined ? NOTHING : renamePlayers(event, nameOf);
}

/** The redacted event, if it is about no other player. */
export const NOTHING: Texts = { payload: '{}', extra: null };
