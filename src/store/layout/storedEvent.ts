import type { Database } from 'better-sqlite3';
import type { Arrival, CourtEvent } from '../../protocol/event.ts';
import { type EotHalves, isIntact, nsOf, originChecksum } from './checksum.ts';

/** An event as stored. */
export type StoredEvent = CourtEvent & Arrival;

/** Null where the names of the event are missing. */
export type EventRow = Omit<StoredEvent, 'eotNs' | 'type' | 'erased'> &
  EotHalves & {
    readonly seqStep: number;
    readonly type: StoredEvent['type'] | null;
    readonly checksum: number;
    readonly erased: 1 | null;
  };

/**
 * Selects EventRows; append a WHERE clause, with `+?` for a parameter: SQLite plans a join anew for each value that is bound to a bare
 * one, since the value may change the plan (its option STAT4). That takes five times as long as the row itself.
 */
export const SELECT_EVENT = `
  SELECT e.seq, s.name AS sessionId, e.event_id AS eventId, e.revision, e.eot, e.eot_ns >> 32 AS eotHigh,
         e.eot_ns & 4294967295 AS eotLow, o.type, o.court AS courtId, o.venue AS venueId, e.confidence, o.source,
         o.schema_version AS schemaVersion, e.received_ms AS receivedMs,
         e.seq_step AS seqStep, e.checksum, e.payload, e.extra, e.erased
    FROM event e LEFT JOIN session s ON s.id = e.session LEFT JOIN origin o ON o.id = e.origin`;

/** @returns undefined where the row is not what was written (checksum.ts). */
export function toStoredEvent(row: EventRow): StoredEvent | undefined {
  const { eotHigh, eotLow, type, seqStep, checksum, erased, ...rest } = row;
  if (type === null) return undefined;
  const event = { ...rest, type, ...(erased === 1 && { erased: true }) };
  if (!isIntact({ ...event, eotHigh, eotLow, seqStep }, originChecksum(event), checksum)) return undefined;
  return { ...event, eotNs: nsOf(eotHigh, eotLow) };
}

/** Bytes of an event's payload and unknown fields; where they are larger, they are read apart from its row. */
export const INLINE_TEXT_BYTES = 4 * 1024;

const FITS_IN_ROW = `octet_length(e.payload) + ifnull(octet_length(e.extra), 0) <= ${INLINE_TEXT_BYTES}`;

/**
 * SQL for the payload and the unknown fields of an event `e`, NULL where they are large. So a chunk of rows is fetched at once, and
 * its memory is bounded all the same: fetching every row separately took half as long again.
 */
export const INLINE_TEXTS = `iif(${FITS_IN_ROW}, e.payload, NULL), iif(${FITS_IN_ROW}, e.extra, NULL)`;

type Texts = Pick<StoredEvent, 'payload' | 'extra'>;

/** @returns a function that completes the texts of a row with INLINE_TEXTS. */
export function textReader(
  db: Database,
): (seq: number, payload: string | null, extra: string | null) => Texts {
  const large = db.prepare<[number], Texts>('SELECT payload, extra FROM event WHERE seq = ?');
  return (seq, payload, extra) => (payload === null ? large.get(seq)! : { payload, extra });
}
