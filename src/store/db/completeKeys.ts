import type { Database } from 'better-sqlite3';
import { keyHash } from './keyHash.ts';
import { sessionCounter } from './sessionCounter.ts';

/**
 * Makes what a copy does not have: the keys of its events, and the counts of its sessions. Call it inside a transaction, before the
 * database is a box's.
 */
export function completeKeys(db: Database): void {
  db.function('key_hash', { deterministic: true }, keyHash);
  db.exec(`
    INSERT OR IGNORE INTO key
    SELECT session, key_hash(event_id), revision, seq FROM event WHERE seq > (SELECT up_to FROM flushed) ORDER BY 1, 2, 3, 4 DESC;
    UPDATE flushed SET up_to = max(up_to, ifnull((SELECT max(seq) FROM event), 0))`);
  sessionCounter(db)();
}
