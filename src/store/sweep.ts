import type { Database } from 'better-sqlite3';
import { PRUNE_READ_ROWS } from '../protocol/limits.ts';
import type { KeyOfEvent } from './keyTable.ts';

type KeyRow = Omit<KeyOfEvent, 'session'>;

/**
 * Finds the keys of a session, in key order, whose events are gone.
 * @param prunedSeq events after it have not been pruned.
 * @yields lists of them, some empty.
 */
export function* deadKeys(db: Database, session: number, prunedSeq: number): Generator<readonly KeyRow[]> {
  const chunk = db.prepare<[number, number, number, number], KeyRow>(`
    SELECT hash, revision, seq FROM key
     WHERE session = ? AND (hash, revision, seq) > (?, ?, ?) ORDER BY hash, revision, seq LIMIT ${PRUNE_READ_ROWS}`);
  const isThere = db.prepare<[number], number>('SELECT 1 FROM event WHERE seq = ?').pluck();
  let after: KeyRow = { hash: -(2 ** 31), revision: -1, seq: 0 };
  for (;;) {
    const rows = chunk.all(session, after.hash, after.revision, after.seq);
    yield rows.filter(({ seq }) => seq <= prunedSeq && isThere.get(seq) === undefined);
    if (rows.length < PRUNE_READ_ROWS) return;
    after = rows.at(-1)!;
  }
}
