import type { Database, Statement } from 'better-sqlite3';
import type { CourtEvent } from '../protocol/event.ts';
import { readKeyHash } from './keyHash.ts';

/** An event as it lies in the store. */
export interface StoredEvent extends CourtEvent {
  /** Order of arrival. */
  readonly seq: number;
  /** When it arrived, milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
}

/** `eot_ns` comes in two parts, because a JavaScript number cannot hold it. */
export type EventRow = Omit<StoredEvent, 'eotNs'> & { readonly eotMs: number; readonly eotRestNs: number };

const NS_PER_MS = 1_000_000n;

/** Complete it with WHERE. */
export const SELECT_EVENT = `
  SELECT e.seq, s.name AS sessionId, e.event_id AS eventId, e.revision, e.eot, e.eot_ns / 1000000 AS eotMs,
         e.eot_ns % 1000000 AS eotRestNs, o.type, o.court AS courtId, o.venue AS venueId, e.confidence, o.source,
         o.schema_version AS schemaVersion, e.received_ms AS receivedMs, e.payload, e.extra
    FROM event e JOIN session s ON s.id = e.session JOIN origin o ON o.id = e.origin`;

export function toStoredEvent(row: EventRow): StoredEvent {
  const { eotMs, eotRestNs, ...event } = row;
  return { ...event, eotNs: BigInt(eotMs) * NS_PER_MS + BigInt(eotRestNs) };
}

export interface FoundEvent extends StoredEvent {
  /** Copies with other content that came later and were ignored. */
  readonly conflictingCopies: number;
}

/** Finds the event that a key leads to. */
export class EventFinder {
  readonly #bySeq: Statement<[number], EventRow>;

  constructor(db: Database) {
    this.#bySeq = db.prepare(`${SELECT_EVENT} WHERE e.seq = ?`);
  }

  bySeq(seq: number): StoredEvent | undefined {
    const row = this.#bySeq.get(seq);
    return row && toStoredEvent(row);
  }
}

/**
 * @returns every stored revision of one event, in order. Keys that are not sealed yet are in the daemon's memory
 * (keys.ts), so the events that came since are looked through as well.
 */
export function findRevisions(db: Database, sessionId: string, eventId: string): FoundEvent[] {
  const hash = readKeyHash(db)(eventId);
  const rows = db.prepare<[{ sessionId: string; eventId: string; hash: number }], EventRow>(`
    ${SELECT_EVENT}
     WHERE s.name = @sessionId AND e.event_id = @eventId AND e.seq IN (
       SELECT k.seq FROM key k JOIN session ks ON ks.id = k.session WHERE ks.name = @sessionId AND k.hash = @hash
       UNION
       SELECT u.seq FROM event u WHERE u.seq > (SELECT up_to_seq FROM sealed) AND u.event_id = @eventId)
     ORDER BY e.revision`);
  const copies = db
    .prepare<[{ seq: number }], number>(
      'SELECT copies FROM conflict WHERE session = (SELECT session FROM event WHERE seq = @seq) AND seq = @seq',
    )
    .pluck();
  return rows.all({ sessionId, eventId, hash }).map((row) => ({
    ...toStoredEvent(row),
    conflictingCopies: copies.get({ seq: row.seq }) ?? 0,
  }));
}
