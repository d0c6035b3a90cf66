import type { Database } from 'better-sqlite3';
import type { Damage } from './damage.ts';
import { EVENT_COLUMNS, EVENTS, isVerified, type StoredEvent } from './storedEvent.ts';

/** A stored event that was sent again with different content. */
export interface StoredConflict extends StoredEvent {
  /** The latest different version, as JSON text; null if it was too large to keep. */
  readonly other: string | null;
  /** How often a different version was sent. */
  readonly times: number;
  /** When the latest one was received, milliseconds since 1970-01-01T00:00:00Z. */
  readonly lastMs: number;
}

/**
 * @param session only those of the session with this id.
 * @param damage takes the events that are damaged, and left out.
 * @returns the conflicts whose other copy is kept, the newest first: at most CONFLICT_COPIES.
 */
export function readConflicts(db: Database, session: number | undefined, damage: Damage): StoredConflict[] {
  const find = db.prepare<[number | null], StoredConflict>(`
    SELECT ${EVENT_COLUMNS}, copy.event AS other, c.copies AS times, c.last_ms AS lastMs
      FROM conflict_copy copy CROSS JOIN ${EVENTS} JOIN conflict c ON c.session = e.session AND c.seq = e.seq
     WHERE e.seq = copy.seq AND ifnull(e.session = ?, 1) ORDER BY copy.turn DESC`);
  return find.all(session ?? null).filter((event) => isVerified(event, damage));
}

/** @returns how many events are in conflict, whether their other copy is kept or not. */
export function countConflicts(db: Database, session?: number): number {
  const count = db.prepare<[number | null], number>(
    'SELECT count(*) FROM conflict WHERE ifnull(session = ?, 1)',
  );
  return count.pluck().get(session ?? null)!;
}
