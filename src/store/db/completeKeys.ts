import type { Database } from 'better-sqlite3';
import { keyHash } from './keyHash.ts';
import { sessionCounter } from './sessionCounter.ts';

/**
 * Makes what a copy does not have: the keys of its events, and the counts of its sessions. A copy may still have an event that the box
 * has pruned since, next to the same event as it came again: the later one stays. Call it inside a transaction, before the database is
 * a box's.
 */
export function completeKeys(db: Database): void {
  db.function('key_hash', { deterministic: true }, keyHash);
  const behind = 'FROM event WHERE seq > (SELECT up_to FROM flushed)';
  const insert = db.prepare(
    `INSERT OR IGNORE INTO key SELECT session, key_hash(event_id), revision, seq ${behind} ORDER BY 1, 2, 3, 4 DESC`,
  );
  const events = db.prepare<[], number>(`SELECT count(*) ${behind}`).pluck().get()!;
  if (insert.run().changes < events)
    db.exec(`
      DELETE ${behind} AND seq < (
        SELECT seq FROM key k
        WHERE k.session = event.session AND k.hash = key_hash(event.event_id) AND k.revision = event.revision)`);
  db.exec('UPDATE flushed SET up_to = max(up_to, ifnull((SELECT max(seq) FROM event), 0))');
  sessionCounter(db)();
}
