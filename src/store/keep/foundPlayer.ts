import { setImmediate } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { hasWord, naming, replacePlayers } from '../../protocol/playerRedaction.ts';
import { ArrivalDecoder } from '../read/arrivalRow.ts';
import { ErasedPlayers, erasureOf, FOREVER_NS, readErasures } from '../write/ledger.ts';
import { Redactor } from '../write/redactor.ts';
import { copiesNaming, type Erased } from './erase.ts';
import { candidates, count, withoutPlayers } from './eraseEvents.ts';

/** What an erasure of a player would change. */
export interface FoundPlayer extends Erased {
  /** Events in which the id is a part of a longer text: that stays. */
  readonly mentioned: number;
  readonly wasErased: boolean;
}

/** Events that one query may find. */
const ROWS = () => 50;

/**
 * Counts what an erasure would change, for a command that only reads.
 * @param beforeNs the player's events that happened before this, nanoseconds since 1970-01-01T00:00:00Z; undefined: all.
 * @param on is called with how many events were looked at.
 */
export async function findPlayer(
  db: Database,
  player: string,
  beforeNs: bigint | undefined,
  on: (looked: number) => void,
): Promise<FoundPlayer> {
  const redactor = new Redactor([erasureOf(db, player, beforeNs ?? FOREVER_NS, 0)]);
  const decoder = new ArrivalDecoder(db);
  const rest = (text: string) => replacePlayers(text, (value) => (value === player ? '' : undefined));
  const tally = { emptied: 0, renamed: 0, sessions: new Set<string>() };
  let mentioned = 0;
  for (const { seqs, looked } of candidates(db, player, ROWS)) {
    for (const seq of seqs) {
      const row = decoder.row(seq);
      if (row === undefined) continue;
      const left = withoutPlayers(row, decoder, redactor);
      const { payload, extra } = left ?? { payload: row[11], extra: row[12] };
      if (hasWord(`${row[2]} ${rest(payload)} ${rest(extra ?? '')}`, player)) mentioned++;
      if (left !== undefined) count(tally, row[1], left);
    }
    on(looked);
    await setImmediate();
  }
  return {
    ...tally,
    mentioned,
    sessions: tally.sessions.size,
    conflictCopies: [...copiesNaming(db, naming(player))].flat().length,
    wasErased: new ErasedPlayers(readErasures(db)).find(player) !== undefined,
  };
}
