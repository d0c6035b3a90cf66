import type { Database } from 'better-sqlite3';

/** Keys of one step: those whose event is looked for, half a millisecond, and all, of which those of newer events are passed by. */
const STEP_KEYS = { old: 250, all: 5_000 } as const;

type Place = [hash: Buffer, revision: number];
const START: Place = [Buffer.alloc(1), -1];
const END: Place = [Buffer.alloc(32, 0xff), 0];

/**
 * @param sessions that have lost events. Of an interrupted prune keys are left until the session loses events again.
 * @yields steps that delete the keys of deleted events from the file, to be called in a transaction; each returns how many.
 */
export function* keysWithoutEvent(db: Database, sessions: Iterable<number>): Generator<() => number> {
  const place = 'FROM key WHERE session = ? AND (hash, revision) > (?, ?)';
  const stretch = db
    .prepare<unknown[], Place>(
      `SELECT hash, revision ${place} ORDER BY hash, revision LIMIT 1 OFFSET ${STEP_KEYS.all - 1}`,
    )
    .raw();
  const next = db
    .prepare<unknown[], Place>(`
      SELECT hash, revision ${place} AND (hash, revision) < (?, ?) AND seq <= (SELECT up_to_seq FROM pruned)
       ORDER BY hash, revision LIMIT 1 OFFSET ${STEP_KEYS.old - 1}`)
    .raw();
  const remove = db.prepare(`
    DELETE FROM key WHERE session = ? AND (hash, revision) > (?, ?) AND (hash, revision) <= (?, ?)
       AND seq <= (SELECT up_to_seq FROM pruned) AND NOT EXISTS (SELECT 1 FROM event WHERE seq = key.seq)`);
  for (const session of sessions) {
    for (let [after, far]: Place[] = [START, START]; after !== END; ) {
      if (after === far) far = stretch.get(session, ...far!) ?? END;
      const [from, to] = [after!, next.get(session, ...after!, ...far!) ?? far!];
      yield () => remove.run(session, ...from, ...to).changes;
      after = to;
    }
  }
}
