import type { Database } from 'better-sqlite3';
import { PRUNE_READ_ROWS } from '../protocol/limits.ts';
import type { Key } from './keys.ts';

type KeyRow = Omit<Key, 'session'>;

/**
 * Finds the keys of a session, in key order, whose events are gone.
 * @param prunedSeq events after it have not been pruned.
 * @yields lists of them, some empty.
 */
export function* deadKeys(db: Database, session: number, prunedSeq: number): Generator<readonly KeyRow[]> {
  const chunk = db.prepare<[number, string, number], KeyRow>(`
    SELECT event_id AS eventId, revision, seq FROM key
     WHERE session = ? AND (event_id, revision) > (?, ?) ORDER BY event_id, revision LIMIT ${PRUNE_READ_ROWS}`);
  const isThere = db.prepare<[number], number>('SELECT 1 FROM event WHERE seq = ?').pluck();
  let after: Pick<KeyRow, 'eventId' | 'revision'> = { eventId: '', revision: -1 };
  for (;;) {
    const rows = chunk.all(session, after.eventId, after.revision);
    yield rows.filter(({ seq }) => seq <= prunedSeq && isThere.get(seq) === undefined);
    if (rows.length < PRUNE_READ_ROWS) return;
    after = rows.at(-1)!;
  }
}
