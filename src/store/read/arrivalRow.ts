import type { Database } from 'better-sqlite3';
import type { Arrival } from '../../protocol/event.ts';
import { type EotHalves, isIntact } from '../db/checksum.ts';
import { OriginReader } from '../db/origins.ts';
import { INLINE_TEXTS, textReader } from '../db/storedEvent.ts';
import type { Damage } from './damage.ts';

/** In the order of `eventColumns`. */
export type ArrivalRow = readonly [
  seq: number,
  sessionId: string | null,
  eventId: string,
  revision: number,
  eot: string,
  eotHigh: number,
  eotLow: number,
  origin: number,
  confidence: number,
  receivedMs: number,
  checksum: number,
  payload: string | null,
  extra: string | null,
  erased: 1 | null,
];

/**
 * Of an event `e`. Names by the number of their origin: with a text column for each name reading took a third longer.
 * @param sessionId NULL for a reader that knows it.
 */
export const eventColumns = (sessionId: string) => `
  e.seq, ${sessionId}, e.event_id, e.revision, e.eot, e.eot_ns >> 32, e.eot_ns & 4294967295,
  e.origin, e.confidence, e.received_ms, e.checksum, ${INLINE_TEXTS}, e.erased`;

export const ARRIVAL_COLUMNS = eventColumns('(SELECT name FROM session WHERE id = e.session)');

/** An event of an intact row. */
export interface DecodedEvent extends Arrival, EotHalves {
  /** The id of its names: events of one origin share type, court, venue, source and schema version. */
  readonly origin: number;
}

/** Makes an event of a row, and verifies it. */
export class ArrivalDecoder {
  readonly #origins: OriginReader;
  readonly #textsOf: ReturnType<typeof textReader>;

  constructor(db: Database) {
    this.#origins = new OriginReader(db);
    this.#textsOf = textReader(db);
  }

  /** @param damage takes a row that is not what was written. @returns undefined for such a row. */
  event(row: ArrivalRow, damage: Damage, sessionId = row[1]): DecodedEvent | undefined {
    const [seq, , eventId, revision, eot, eotHigh, eotLow, id, confidence, receivedMs] = row;
    const origin = this.#origins.find(id);
    const texts = this.#textsOf(seq, row[11], row[12]);
    if (origin !== undefined) {
      const event = {
        seq,
        sessionId: sessionId ?? '',
        eventId,
        revision,
        eot,
        eotHigh,
        eotLow,
        origin: id,
        type: origin.type,
        courtId: origin.courtId,
        venueId: origin.venueId,
        confidence,
        source: origin.source,
        schemaVersion: origin.schemaVersion,
        receivedMs,
        payload: texts.payload,
        extra: texts.extra,
        erased: row[13] === 1,
      };
      if (isIntact(event, origin.checksum, row[10])) return event;
    }
    damage.event({ seq, sessionId, eventId, revision });
    return undefined;
  }
}
