import { setImmediate } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { hasWord, naming, replacePlayers } from '../../protocol/playerRedaction.ts';
import { ErasedPlayers, erasureOf, FOREVER_NS, readErasures } from '../write/ledger.ts';
import { Redactor } from '../write/redactor.ts';
import { copiesNaming, type Erased } from './erase.ts';
import { ErasedTally, withoutPlayers } from './eraseEvents.ts';

/** What an erasure of a player would change. */
export interface FoundPlayer extends Erased {
  /** Events in which the id is a part of a longer text: that stays. */
  readonly mentioned: number;
  readonly wasErased: boolean;
}

/** A fifth of the events that are read at a time. */
const ROWS = () => 50;

/**
 * Counts what an erasure would change, for a command that only reads.
 * @param beforeNs the player's events that happened before this, nanoseconds since 1970-01-01T00:00:00Z; undefined: all.
 * @param on is called with how many events were read.
 */
export async function findPlayer(
  db: Database,
  player: string,
  beforeNs: bigint | undefined,
  on: (read: number) => void,
): Promise<FoundPlayer> {
  const redactor = new Redactor([erasureOf(db, player, beforeNs ?? FOREVER_NS, 0)]);
  const rest = (text: string) => replacePlayers(text, (value) => (value === player ? '' : undefined));
  const tally = new ErasedTally();
  let mentioned = 0;
  const events = withoutPlayers(db, redactor, ROWS, (row, left) => {
    const text = left ? `${left.payload} ${left.extra ?? ''}` : `${row[11]} ${row[12] ?? ''}`;
    if (hasWord(row[2], player) || (text.includes(player) && hasWord(rest(text), player))) mentioned++;
  });
  for (const { lefts, read } of events) {
    for (const left of lefts) tally.add(left);
    on(read);
    await setImmediate();
  }
  return {
    ...tally,
    sessions: tally.sessions.size,
    mentioned,
    conflictCopies: [...copiesNaming(db, naming(player))].flat().length,
    wasErased: new ErasedPlayers(readErasures(db)).find(player) !== undefined,
  };
}
