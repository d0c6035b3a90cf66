import type { Database } from 'better-sqlite3';
import { sessionCounter } from '../db/sessionCounter.ts';
import { STEP_KEYS } from '../db/sizes.ts';
import type { Step, StepWriter } from './steps.ts';

/**
 * Keys of deleted events, which are deleted after the events because they are in the order of their hash: each would change a page of
 * its own. A key without an event is replaced if the event comes again.
 * @param sessions that have lost events. After an interrupted prune, keys stay until the session loses events again or has none.
 * @yields steps that delete keys.
 */
export function* keysWithoutEvent(db: Database, sessions: Iterable<number>): Generator<Step> {
  const next = db
    .prepare<unknown[], [Buffer, number]>(`
      SELECT hash, revision FROM key WHERE session = ? AND (hash, revision) > (?, ?)
       ORDER BY hash, revision LIMIT 1 OFFSET ${STEP_KEYS - 1}`)
    .raw();
  const remove = db.prepare(`
    DELETE FROM key WHERE session = ? AND (hash, revision) > (?, ?) AND (hash, revision) <= (?, ?)
       AND seq <= (SELECT up_to_seq FROM pruned) AND NOT EXISTS (SELECT 1 FROM event WHERE seq = key.seq)`);
  const empty = db.prepare<[], number>('SELECT id FROM session WHERE events = 0').pluck();
  const end: [Buffer, number] = [Buffer.alloc(32, 0xff), 0];
  for (const session of new Set([...sessions, ...empty.all()])) {
    for (let after: [Buffer, number] = [Buffer.alloc(1), -1]; after !== end; ) {
      const to = next.get(session, ...after) ?? end;
      const from = after;
      yield () => void remove.run(session, ...from, ...to);
      after = to;
    }
  }
}

/** Deletes sessions without events, after their keys. Call it inside a transaction. */
export function deleteEmptySessions(db: Database, { appender }: Pick<StepWriter, 'appender'>): void {
  sessionCounter(db)();
  // A counter may be wrong, and without its name no event of the session can be read.
  db.exec(`
    DELETE FROM session WHERE events = 0
       AND NOT EXISTS (SELECT 1 FROM key WHERE session = id) AND NOT EXISTS (SELECT 1 FROM recent_key WHERE session = id)`);
  // Not after the pause that follows: what arrives in it would be stored under the deleted ids.
  appender.forgetNames();
}
