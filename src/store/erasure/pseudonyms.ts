import type { Database, Statement } from 'better-sqlite3';
import type { Arrival } from '../../protocol/event.ts';
import { playerOf, playersNamed, renamePlayers } from '../../protocol/playerRedaction.ts';
import { isErasedName, randomName } from './redactor.ts';

/**
 * Pseudonyms: under which headquarters knows the players, where it is not to know who they are. One for each player, in all sessions,
 * in a table that never leaves the box: once a row is deleted, nobody can link what headquarters has with the player.
 */

/**
 * Gives each player of some events a name, where he has none yet; it is on disk when this returns.
 * @returns the events as headquarters gets them: no string of payloads and unknown members is the id of a player, and of an identity
 * nothing is left but the name. Undefined where a prune or an erasure has changed one of them meanwhile: read them again.
 */
export function underPseudonyms(db: Database, events: readonly Arrival[]): Arrival[] | undefined {
  const find = findPseudonym(db);
  const unnamed = new Map<string, Arrival[]>();
  for (const event of events) {
    const { payload, extra, erased } = event;
    for (const player of playersIn(payload, extra)) {
      if ((erased && isErasedName(player)) || find.get(player) !== undefined) continue;
      unnamed.set(player, [...(unnamed.get(player) ?? []), event]);
    }
  }
  if (unnamed.size > 0 && !addNames(db, unnamed)) return undefined;
  const names = new Map<string, string | undefined>();
  const nameOf = (text: string) => {
    if (!names.has(text)) names.set(text, find.get(text));
    return names.get(text);
  };
  return events.map((event) => {
    const renamed = { ...event, ...renamePlayers(event, nameOf) };
    if (event.type !== 'PLAYER_IDENTITY') return renamed;
    const player = playerOf(renamed.payload);
    return {
      ...event,
      payload: player === undefined ? '{}' : JSON.stringify({ player_id: player }),
      extra: null,
    };
  });
}

/** @returns what finds the name of a player, by his id. */
export function findPseudonym(db: Database): Statement<[string], string> {
  return db.prepare<[string], string>('SELECT name FROM pseudonym WHERE player_id = ?').pluck();
}

/** Not only where it names who the event is about. */
function playersIn(payload: string, extra: string | null): Set<string> {
  return new Set([...playersNamed(payload), ...playersNamed(extra ?? '')]);
}

/** @param unnamed the events that name each. @returns whether they are as they were read: an erased player gets no name any more. */
function addNames(db: Database, unnamed: ReadonlyMap<string, readonly Arrival[]>): boolean {
  const isThere = db.prepare<[number, string, string | null]>(
    'SELECT 1 FROM event WHERE seq = ? AND payload = ? AND extra IS ?',
  );
  const add = db.prepare<[string, string]>('INSERT OR IGNORE INTO pseudonym (player_id, name) VALUES (?, ?)');
  const work = () => {
    for (const [player, naming] of unnamed) {
      if (!naming.every(({ seq, payload, extra }) => isThere.get(seq, payload, extra))) return false;
      add.run(player, randomName('player-'));
    }
    return true;
  };
  return db.transaction(work).immediate();
}
