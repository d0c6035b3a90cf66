import type { Database } from 'better-sqlite3';
import { keyHash } from '../db/keyHash.ts';
import { ARRIVAL_COLUMNS, ArrivalDecoder, type ArrivalRow, type DecodedEvent } from './arrivalRow.ts';
import type { Damage } from './damage.ts';

/** A stored revision with its conflicts. */
interface FoundEvent extends DecodedEvent {
  /** Copies with a different JSON value that arrived later and were ignored. */
  readonly conflictingCopies: number;
}

type FoundRow = readonly [...ArrivalRow, copies: number | null];

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
  const rows = db.prepare<[{ sessionId: string; eventId: string; hash: Buffer }], FoundRow>(`
    SELECT ${ARRIVAL_COLUMNS}, (SELECT copies FROM conflict c WHERE c.session = e.session AND c.seq = e.seq) FROM event e JOIN session s ON s.id = e.session
     WHERE s.name = @sessionId AND e.event_id = @eventId AND e.seq IN (
       SELECT k.seq FROM key k JOIN session ks ON ks.id = k.session WHERE ks.name = @sessionId AND k.hash = @hash
       UNION
       SELECT u.seq FROM event u WHERE u.seq > (SELECT up_to FROM flushed) AND u.event_id = @eventId)
     ORDER BY e.revision`);
  const decoder = new ArrivalDecoder(db);
  const revisions = rows.raw().all({ sessionId, eventId, hash: keyHash(eventId) });
  return revisions.flatMap((row) => {
    const event = decoder.event(row as unknown as ArrivalRow, damage);
    return event === undefined ? [] : [{ ...event, conflictingCopies: row[14] ?? 0 }];
  });
}
