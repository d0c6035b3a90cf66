import type { Database } from 'better-sqlite3';
import { READ_CHUNK_ROWS } from '../../base/limits.ts';
import { playerOf } from '../../protocol/playerRedaction.ts';
import { arrivalsAfter } from './arrivals.ts';
import type { Damage } from './damage.ts';
import { order, readOrdered } from './sessionReader.ts';
import type { StoredEvent } from './storedEvent.ts';

/** An event that names a player in `payload.player_id`. */
export interface NamedEvent extends StoredEvent {
  readonly player: string;
}

/**
 * Reads every event once, in short reads: no index of players is kept, which would cost ingest (../../ARCHITECTURE.md#players).
 * @param damage takes what is damaged, and left out.
 * @yields events in the order of arrival. Those up to `upTo` have been read; `lastSeq` is the highest when the read began.
 */
export function* readNamed(db: Database, damage: Damage) {
  let lastSeq: number | undefined;
  for (let upTo = 0; upTo < (lastSeq ?? 1); ) {
    const chunk = arrivalsAfter(db, upTo, READ_CHUNK_ROWS, {}, damage);
    lastSeq ??= chunk.lastSeq;
    upTo = Math.min(chunk.upTo, lastSeq);
    const events: NamedEvent[] = [];
    for (const event of chunk.events) {
      const player = playerOf(event.payload);
      // The last chunk may have some that came meanwhile.
      if (player !== undefined && event.seq <= lastSeq) events.push({ ...event, player });
    }
    yield { events, upTo, lastSeq };
  }
}

/**
 * @param seqs of the events that name the player. @param db a connection of its own: creates a temporary table in it.
 * @returns those that still do, in the order of eot: an erasure or a prune may have come between.
 */
export function readPlayer(db: Database, player: string, seqs: readonly number[], damage: Damage) {
  order(db, BY_SEQ, JSON.stringify(seqs));
  return readOrdered(db, damage).map((events) =>
    events.filter(({ payload }) => playerOf(payload) === player),
  );
}

const BY_SEQ = 'SELECT e.seq, e.eot_ns, 1 AS current FROM json_each(?) CROSS JOIN event e ON e.seq = value';
