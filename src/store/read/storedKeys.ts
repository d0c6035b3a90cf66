import type { Database } from 'better-sqlite3';
import type { EventKey } from '../../protocol/bodyParts.ts';
import { keyHash } from '../db/keyHash.ts';

/** @returns whether an event is stored. @param db of the daemon, or one after `readRecentKeys`. */
export function storedLookup(db: Database): (key: EventKey) => boolean {
  const find = db.prepare<[EventKey & { hash: Buffer }]>(`
    SELECT 1 FROM session s
     WHERE s.name = @sessionId AND (
       EXISTS (SELECT 1 FROM recent_key WHERE (session, hash, revision) = (s.id, @hash, @revision)) OR
       EXISTS (SELECT 1 FROM key WHERE (session, hash, revision) = (s.id, @hash, @revision)))`);
  return (key) => find.get({ ...key, hash: keyHash(key.eventId) }) !== undefined;
}

/** Reads the newest keys, which otherwise only the memory of the daemon has (../write/keys.ts). @param db of a command. */
export function readRecentKeys(db: Database): void {
  db.function('key_hash', { deterministic: true }, keyHash);
  db.exec(`
    CREATE TEMP TABLE recent_key (session, hash, revision, PRIMARY KEY (session, hash, revision)) WITHOUT ROWID;
    INSERT OR IGNORE INTO recent_key
    SELECT session, key_hash(event_id), revision FROM event WHERE seq > (SELECT up_to FROM flushed)`);
}
