import type { CourtEvent } from '../../protocol/event.ts';
import { namesMissing } from './origins.ts';

/** An event as stored. */
export interface StoredEvent extends CourtEvent {
  /** Order of arrival. */
  readonly seq: number;
  /** When it was received, milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
}

/** `eot_ns` in two columns, because a JavaScript number cannot hold it. */
export type EventRow = Omit<StoredEvent, 'eotNs' | 'type'> & {
  readonly eotMs: number;
  readonly eotRestNs: number;
  readonly type: string | null;
};

const NS_PER_MS = 1_000_000n;

/** Selects EventRows; append a WHERE clause. */
export const SELECT_EVENT = `
  SELECT e.seq, s.name AS sessionId, e.event_id AS eventId, e.revision, e.eot, e.eot_ns / 1000000 AS eotMs,
         e.eot_ns % 1000000 AS eotRestNs, o.type, o.court AS courtId, o.venue AS venueId, e.confidence, o.source,
         o.schema_version AS schemaVersion, e.received_ms AS receivedMs, e.payload, e.extra
    FROM event e JOIN session s ON s.id = e.session LEFT JOIN origin o ON o.id = e.origin`;

/** @throws {OperatorError} where the names of the event are missing. */
export function toStoredEvent(row: EventRow): StoredEvent {
  const { eotMs, eotRestNs, type, ...event } = row;
  if (type === null) throw namesMissing();
  return { ...event, type, eotNs: BigInt(eotMs) * NS_PER_MS + BigInt(eotRestNs) };
}
