import type { Database } from 'better-sqlite3';

/** Keys that one step looks at: half a millisecond. */
const STEP_KEYS = 250;

/**
 * @param sessions that have lost events. Of an interrupted prune keys are left until the session loses events again.
 * @yields steps that delete the keys of deleted events from the file, to be called in a transaction; each returns how many.
 */
export function* keysWithoutEvent(db: Database, sessions: Iterable<number>): Generator<() => number> {
  const next = db
    .prepare<unknown[], [Buffer, number]>(`
      SELECT hash, revision FROM key WHERE session = ? AND (hash, revision) > (?, ?)
       ORDER BY hash, revision LIMIT 1 OFFSET ${STEP_KEYS - 1}`)
    .raw();
  const remove = db.prepare(`
    DELETE FROM key WHERE session = ? AND (hash, revision) > (?, ?) AND (hash, revision) <= (?, ?)
       AND seq <= (SELECT up_to_seq FROM pruned) AND NOT EXISTS (SELECT 1 FROM event WHERE seq = key.seq)`);
  const end: [Buffer, number] = [Buffer.alloc(32, 0xff), 0];
  for (const session of sessions) {
    for (let after: [Buffer, number] = [Buffer.alloc(1), -1]; after !== end; ) {
      const to = next.get(session, ...after) ?? end;
      const from = after;
      yield () => remove.run(session, ...from, ...to).changes;
      after = to;
    }
  }
}
