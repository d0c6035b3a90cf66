import type { Database } from 'better-sqlite3';
import type { BodyPart } from '../../protocol/bodyParts.ts';
import { type CourtEvent, isName } from '../../protocol/courtEvent.ts';
import { keyHash } from '../db/keyHash.ts';

/** What an event is known by (spec 2.3). */
export type EventKey = Pick<CourtEvent, 'sessionId' | 'eventId' | 'revision'>;

/** @returns undefined if a part of the key is missing or invalid: that may be the fault to correct. */
export function keyOf({ isJson, sent }: BodyPart): EventKey | undefined {
  const { session_id, event_id, revision } = ((isJson && sent) || {}) as Record<string, unknown>;
  const number = revision ?? 0;
  const isValid = (name: unknown): name is string => typeof name === 'string' && isName(name);
  if (!isValid(session_id) || !isValid(event_id) || !Number.isSafeInteger(number)) return undefined;
  return { sessionId: session_id, eventId: event_id, revision: number as number };
}

/** @returns whether an event is stored; one without a key is not. @param db of the daemon, or one after `readRecentKeys`. */
export function storedLookup(db: Database): (key: EventKey | undefined) => boolean {
  const find = db.prepare<[EventKey & { hash: Buffer }]>(`
    SELECT 1 FROM session s
     WHERE s.name = @sessionId AND (
       EXISTS (SELECT 1 FROM recent_key WHERE (session, hash, revision) = (s.id, @hash, @revision)) OR
       EXISTS (SELECT 1 FROM key WHERE (session, hash, revision) = (s.id, @hash, @revision)))`);
  return (key) => key !== undefined && find.get({ ...key, hash: keyHash(key.eventId) }) !== undefined;
}

/** @returns SQL: the keys of the events behind `flushed.up_to`, but of those that have lost theirs to damage. @param db runs it. */
export function newestKeys(db: Database): string {
  db.function('key_hash', { deterministic: true }, keyHash);
  return `SELECT session, key_hash(event_id), revision, seq FROM event WHERE seq > (SELECT up_to FROM flushed)
             AND typeof(session) = 'integer' AND typeof(revision) = 'integer'`;
}

/** Reads the newest keys into a table in memory (../write/keys.ts). @param schema in which that is made. */
export function readRecentKeys(db: Database, schema = 'temp'): void {
  db.exec(`
    CREATE TABLE ${schema}.recent_key (
      session INTEGER, hash BLOB, revision INTEGER, seq INTEGER, PRIMARY KEY (session, hash, revision)
    ) STRICT, WITHOUT ROWID;
    INSERT OR REPLACE INTO recent_key ${newestKeys(db)}`);
}
