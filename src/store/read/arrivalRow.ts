import type { Database, Statement } from 'better-sqlite3';
import { NAMES_CACHED } from '../../base/limits.ts';
import type { Arrival } from '../../protocol/courtEvent.ts';
import { type EotHalves, isIntact, type OriginNames, originChecksum } from '../db/checksum.ts';
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
  payload: string,
  extra: string | null,
  erased: 1 | null,
];

/**
 * The columns of an event `e`. Names by the number of their origin: with a text column for each, reading took a third longer.
 * @param sessionId NULL for a reader that knows it.
 */
export const eventColumns = (sessionId: string) => `
  e.seq, ${sessionId}, e.event_id, e.revision, e.eot, e.eot_ns >> 32, e.eot_ns & 4294967295,
  e.origin, e.confidence, e.received_ms, e.checksum, e.payload, e.extra, e.erased`;

export const ARRIVAL_COLUMNS = eventColumns('(SELECT name FROM session WHERE id = e.session)');

/** An event of an intact row. */
export interface DecodedEvent extends Arrival, EotHalves {
  /** The id of its names: events of one origin share type, court, venue, source and schema version. */
  readonly origin: number;
}

/** With their checksum (checksum.ts). */
type Origin = OriginNames & { readonly checksum: number };

/** Makes an event of a row, and verifies it. */
export class ArrivalDecoder {
  readonly #row: Statement<[number], ArrivalRow>;
  readonly #findOrigin: Statement<[number], OriginNames>;
  readonly #origins = new Map<number, Origin>();

  constructor(db: Database) {
    this.#row = db.prepare<[number], ArrivalRow>(`SELECT ${ARRIVAL_COLUMNS} FROM event e WHERE e.seq = ?`);
    this.#row.raw();
    this.#findOrigin = db.prepare(`
      SELECT type, court AS courtId, venue AS venueId, source, schema_version AS schemaVersion
        FROM origin WHERE id = ?`);
  }

  /** @returns the row of an event; undefined if it is not stored. */
  row(seq: number): ArrivalRow | undefined {
    return this.#row.get(seq);
  }

  /** @returns an event, as `event`; undefined also if it is not stored. */
  at(seq: number, damage: Damage): DecodedEvent | undefined {
    const row = this.#row.get(seq);
    return row && this.event(row, damage);
  }

  /** @param damage takes a row that is not what was written. @returns undefined for such a row. */
  event(row: ArrivalRow, damage: Damage, sessionId = row[1]): DecodedEvent | undefined {
    const [seq, , eventId, revision, eot, eotHigh, eotLow, id, confidence, receivedMs] = row;
    const origin = this.#origins.get(id) ?? this.#originOf(id);
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
        payload: row[11],
        extra: row[12],
        erased: row[13] === 1,
      };
      if (isIntact(event, origin.checksum, row[10])) return event;
    }
    damage.event({ seq, sessionId, eventId, revision });
    return undefined;
  }

  /** @returns undefined if there is no such origin: the database is damaged. */
  #originOf(id: number): Origin | undefined {
    const names = this.#findOrigin.get(id);
    if (names === undefined || Object.values(names).some((name) => typeof name !== 'string'))
      return undefined;
    const origin = { ...names, checksum: originChecksum(names) };
    if (this.#origins.size >= NAMES_CACHED) this.#origins.clear();
    this.#origins.set(id, origin);
    return origin;
  }
}
