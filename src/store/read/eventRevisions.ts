import type { Database } from 'better-sqlite3';
import { keyHash } from '../db/keyHash.ts';
import type { Damage } from './damage.ts';
import { EVENT_COLUMNS, EVENTS, isVerified, type StoredEvent } from './storedEvent.ts';

/**
 * @returns every stored revision of one event, in ascending order, with how many copies of another JSON value came later. The keys of the newest events are
 * only in the daemon's memory (keys.ts), so those events are searched.
 * @param damage takes the revisions that are damaged, and left out.
 */
export function findRevisions(db: Database, sessionId: string, eventId: string, damage: Damage) {
  const find = db.prepare<[object], StoredEvent & { readonly conflictingCopies: number }>(`
    SELECT ${EVENT_COLUMNS}, ifnull(c.copies, 0) AS conflictingCopies
      FROM ${EVENTS} LEFT JOIN conflict c ON c.session = e.session AND c.seq = e.seq
     WHERE s.name = @sessionId AND e.event_id = @eventId AND e.seq IN (
       SELECT k.seq FROM key k JOIN session ks ON ks.id = k.session WHERE ks.name = @sessionId AND k.hash = @hash
       UNION
       SELECT u.seq FROM event u WHERE u.seq > (SELECT up_to FROM flushed) AND u.event_id = @eventId)
     ORDER BY e.revision`);
  const found = find.all({ sessionId, eventId, hash: keyHash(eventId) });
  return found.filter((event) => isVerified(event, damage));
}
