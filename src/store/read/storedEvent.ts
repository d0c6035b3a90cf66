import type { Database } from 'better-sqlite3';
import { READ_CHUNK_BYTES } from '../../base/limits.ts';
import { isIntact, type SummedRow } from '../db/checksum.ts';
import { keyHash } from '../db/keyHash.ts';
import type { Damage } from './damage.ts';

/** A row with EVENT_COLUMNS, once it is verified. */
export type StoredEvent = SummedRow;

export const EVENT_COLUMNS = `
  e.seq, s.name AS sessionId, e.event_id AS eventId, e.revision, e.eot, CAST(e.eot_ns >> 0 AS TEXT) AS eotDigits,
  o.type, o.court AS courtId, o.venue AS venueId, e.confidence, o.source, o.schema_version AS schemaVersion,
  e.received_ms AS receivedMs, e.checksum, e.payload, e.extra, e.erased`;

/** A damaged event may lead to no names. */
export const EVENTS = 'event e LEFT JOIN session s ON s.id = e.session LEFT JOIN origin o ON o.id = e.origin';

/** @param damage takes an event whose row is not what was written. @returns whether it is. */
export function isVerified(event: StoredEvent, damage: Damage): boolean {
  if (isIntact(event)) return true;
  damage.event(event);
  return false;
}

/**
 * Takes events until they are as large as a reader may read at a time.
 * @param damage takes those that are damaged, and left out.
 * @returns the others, and the last one of all; undefined if there is none.
 */
export function chunkOf<Row extends StoredEvent>(rows: Iterable<Row>, damage: Damage) {
  const events: Row[] = [];
  let bytes = 0;
  let last: Row | undefined;
  for (const row of rows) {
    last = row;
    if (!isVerified(row, damage)) continue;
    events.push(row);
    bytes += row.payload.length + (row.extra?.length ?? 0);
    if (bytes > READ_CHUNK_BYTES) break;
  }
  return { events, last };
}

/**
 * @param session its id.
 * @returns every stored revision of one event, in ascending order, with how many copies of another JSON value came later. The keys of
 * the newest events are only in the daemon's memory (keys.ts), so those events are searched.
 * @param damage takes the revisions that are damaged, and left out.
 */
export function findRevisions(db: Database, session: number, eventId: string, damage: Damage) {
  const find = db.prepare<[object], StoredEvent & { readonly conflictingCopies: number }>(`
    SELECT ${EVENT_COLUMNS}, ifnull(c.copies, 0) AS conflictingCopies
      FROM ${EVENTS} LEFT JOIN conflict c ON c.session = e.session AND c.seq = e.seq
     WHERE e.session = @session AND e.event_id = @eventId AND e.seq IN (
       SELECT seq FROM key WHERE session = @session AND hash = @hash
       UNION SELECT seq FROM event WHERE seq > (SELECT up_to FROM flushed) AND event_id = @eventId)
     ORDER BY e.revision`);
  const found = find.all({ session, eventId, hash: keyHash(eventId) });
  return found.filter((event) => isVerified(event, damage));
}
