import type { Database } from 'better-sqlite3';
import { ArrivalDecoder, type DecodedEvent } from './arrivalRow.ts';
import type { Damage } from './damage.ts';

/** An event that was sent again with different content. */
export interface StoredConflict {
  /** The one that is stored. */
  readonly stored: DecodedEvent;
  /** The latest different version, as JSON text; null if it was too large to keep. */
  readonly other: string | null;
  /** How often a different version was sent. */
  readonly times: number;
  /** When the latest one was received, milliseconds since 1970-01-01T00:00:00Z. */
  readonly lastMs: number;
}

/** Conflicts of one read. */
const CHUNK_ROWS = 100;

type CopyRow = Omit<StoredConflict, 'stored'> & { readonly seq: number; readonly turn: number };

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
  const find = db.prepare<[{ before: number; session: number | null }], CopyRow>(`
    SELECT o.seq, o.turn, o.event AS other, c.copies AS times, c.last_ms AS lastMs
      FROM conflict_copy o
      JOIN event e ON e.seq = o.seq
      JOIN conflict c ON c.session = e.session AND c.seq = o.seq
     WHERE o.turn < @before AND (@session IS NULL OR e.session = @session)
     ORDER BY o.turn DESC LIMIT ${CHUNK_ROWS}`);
  const decoder = new ArrivalDecoder(db);
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = find.all({ before, session: session ?? null });
    if (rows.length === 0) return;
    before = rows.at(-1)!.turn;
    yield rows.flatMap(({ seq, turn, ...copy }) => {
      const stored = decoder.at(seq, damage);
      return stored === undefined ? [] : [{ stored, ...copy }];
    });
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
