import { setImmediate } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { hasWord, naming } from '../../protocol/playerRedaction.ts';
import { countCopies, type Erased } from './erase.ts';
import { countErasure } from './eraseEvents.ts';
import { ErasedPlayers, erasureOf, FOREVER_NS, readErasures } from './ledger.ts';
import { findPseudonym } from './pseudonyms.ts';
import { Redactor } from './redactor.ts';

/** What an erasure of a player would change, and what of him would stay. */
export interface FoundPlayer extends Pick<Erased, 'emptied' | 'renamed' | 'sessions' | 'conflictCopies'> {
  /** Sessions, and cameras, whose own name has his id in it. */
  readonly namedSessions: number;
  readonly namedSources: number;
  /** Events in which his id is a part of a longer text. */
  readonly mentioned: number;
  /** His own: the others hold his id in another field. */
  readonly own: number;
  /** Events that name him and stay, since they happened later. */
  readonly later: number;
  /** Headquarters knows him by another name, also after his last event was pruned. */
  readonly hasPseudonym: boolean;
  readonly wasErased: boolean;
  /** One was ended in the middle. */
  readonly isBegun: boolean;
}

/**
 * Counts what an erasure would change; beside ingest, by somebody who only reads.
 * @param beforeNs his events that happened before this, nanoseconds since 1970-01-01T00:00:00Z; undefined: all.
 * @param on is called with how many events were looked at.
 */
export async function findPlayer(
  db: Database,
  player: string,
  beforeNs: bigint | undefined,
  on: (looked: number) => void,
): Promise<FoundPlayer> {
  const redactor = new Redactor([erasureOf(db, player, FOREVER_NS, 0)]);
  let count = { emptied: 0, renamed: 0, sessions: 0, mentioned: 0, own: 0, later: 0 };
  for (const { looked, ...so } of countErasure(db, redactor, player, beforeNs ?? FOREVER_NS)) {
    count = so;
    on(looked);
    await setImmediate();
  }
  const named = (table: string, text: string) => {
    const texts = db.prepare<[string], string>(`SELECT ${text} FROM ${table} WHERE instr(${text}, ?) > 0`);
    return texts
      .pluck()
      .all(player)
      .filter((one) => hasWord(one, player)).length;
  };
  const names = naming(player);
  const before = new ErasedPlayers(readErasures(db)).find(player);
  return {
    ...count,
    conflictCopies: countCopies(db, names),
    namedSessions: named('session', 'name'),
    namedSources: named('origin', "concat_ws(' ', venue, court, source)"),
    hasPseudonym: findPseudonym(db).get(player) !== undefined,
    wasErased: before !== undefined,
    isBegun: before?.finishedMs === null,
  };
}
