import type { Database } from 'better-sqlite3';
import type { Damage } from './damage.ts';
import { chunkOf, EVENT_COLUMNS, EVENTS, type StoredEvent } from './storedEvent.ts';

/** A stored event that was sent again with different content. */
export interface StoredConflict extends StoredEvent {
  /** The latest different version, as JSON text; null if it was too large to keep. */
  readonly other: string | null;
  /** How often a different version was sent. */
  readonly times: number;
  /** When the latest one was received, milliseconds since 1970-01-01T00:00:00Z. */
  readonly lastMs: number;
  /** The newest conflict has the highest. */
  readonly turn: number;
}

/** Conflicts of one read. */
const CHUNK_ROWS = 100;

/**
 * @param session only those of the session with this id.
 * @yields the conflicts whose other copy is kept, the newest first; each batch is a read of its own.
 * @param damage takes the events that are damaged, and left out.
 */
export function* readConflicts(
  db: Database,
  session: number | undefined,
  damage: Damage,
): Generator<StoredConflict[]> {
  const find = db.prepare<[{ before: number; session: number | null }], StoredConflict>(`
    SELECT ${EVENT_COLUMNS}, copy.turn, copy.event AS other, c.copies AS times, c.last_ms AS lastMs
      FROM conflict_copy copy CROSS JOIN ${EVENTS} JOIN conflict c ON c.session = e.session AND c.seq = e.seq
     WHERE e.seq = copy.seq AND copy.turn < @before AND (@session IS NULL OR e.session = @session)
     ORDER BY copy.turn DESC LIMIT ${CHUNK_ROWS}`);
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const { events, last } = chunkOf(find.iterate({ before, session: session ?? null }), damage);
    if (last === undefined) return;
    before = last.turn;
    yield events;
  }
}

/** @returns how many events are in conflict, whether their other copy is kept or not. */
export function countConflicts(db: Database, session?: number): number {
  const count = 'SELECT count(*) FROM conflict WHERE @session IS NULL OR session = @session';
  return db
    .prepare<[object], number>(count)
    .pluck()
    .get({ session: session ?? null })!;
}
