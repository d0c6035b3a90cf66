import type { Database } from 'better-sqlite3';
import { keyHash } from '../db/keyHash.ts';
import { ArrivalDecoder, type DecodedEvent } from './arrivalRow.ts';
import type { Damage } from './damage.ts';

/** A stored revision with its conflicts. */
interface FoundEvent extends DecodedEvent {
  /** Copies with a different JSON value that arrived later and were ignored. */
  readonly conflictingCopies: number;
}

/**
 * @returns every stored revision of one event, in ascending order; empty if there is none. The keys of the newest events are
 * only in the daemon's memory (keys.ts), so those events are searched.
 * @param damage takes the revisions that are damaged, and left out.
 */
export function findRevisions(
  db: Database,
  sessionId: string,
  eventId: string,
  damage: Damage,
): FoundEvent[] {
  const rows = db.prepare<[object], { seq: number; copies: number | null }>(`
    SELECT e.seq, c.copies FROM event e JOIN session s ON s.id = e.session LEFT JOIN conflict c ON c.session = e.session AND c.seq = e.seq
     WHERE s.name = @sessionId AND e.event_id = @eventId AND e.seq IN (
       SELECT k.seq FROM key k JOIN session ks ON ks.id = k.session WHERE ks.name = @sessionId AND k.hash = @hash
       UNION
       SELECT u.seq FROM event u WHERE u.seq > (SELECT up_to FROM flushed) AND u.event_id = @eventId)
     ORDER BY e.revision`);
  const decoder = new ArrivalDecoder(db);
  return rows.all({ sessionId, eventId, hash: keyHash(eventId) }).flatMap(({ seq, copies }) => {
    const event = decoder.at(seq, damage);
    return event === undefined ? [] : [{ ...event, conflictingCopies: copies ?? 0 }];
  });
}
