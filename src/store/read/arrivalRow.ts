import type { Database } from 'better-sqlite3';
import type { Arrival } from '../../protocol/event.ts';
import { isIntact } from '../layout/checksum.ts';
import { OriginReader } from '../layout/origins.ts';
import { INLINE_TEXTS, textReader } from '../layout/storedEvent.ts';
import type { Damage } from './damage.ts';
import { unlessDamaged } from './readableRows.ts';

/** In the order of ARRIVAL_COLUMNS. */
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
  seqStep: number,
  checksum: number,
  payload: string | null,
  extra: string | null,
];

/** Of an event `e`. */
export const ARRIVAL_COLUMNS = `
  e.seq, (SELECT name FROM session WHERE id = e.session), e.event_id, e.revision, e.eot, e.eot_ns >> 32, e.eot_ns & 4294967295,
  e.origin, e.confidence, e.received_ms, e.seq_step, e.checksum, ${INLINE_TEXTS}`;

/** Makes an event of a row, and verifies it. */
export class ArrivalDecoder {
  readonly #origins: OriginReader;
  readonly #textsOf: ReturnType<typeof textReader>;

  constructor(db: Database) {
    this.#origins = new OriginReader(db);
    this.#textsOf = textReader(db);
  }

  /** @param damage takes a row that is not what was written. @returns undefined for such a row. */
  event(row: ArrivalRow, damage: Damage): Arrival | undefined {
    const [
      seq,
      sessionId,
      eventId,
      revision,
      eot,
      eotHigh,
      eotLow,
      ,
      confidence,
      receivedMs,
      seqStep,
      checksum,
    ] = row;
    const origin = unlessDamaged(() => this.#origins.find(row[7]), undefined);
    const texts = unlessDamaged(() => this.#textsOf(seq, row[12], row[13]), undefined);
    if (origin !== undefined && texts !== undefined) {
      const { type, courtId, venueId, source, schemaVersion } = origin;
      const names = { sessionId: sessionId ?? '', type, courtId, venueId, source, schemaVersion };
      const event = { seq, eventId, revision, eot, ...names, confidence, receivedMs, ...texts };
      if (isIntact({ ...event, eotHigh, eotLow, seqStep }, origin.checksum, checksum)) return event;
    }
    damage.event({ seq, sessionId, eventId, revision });
    return undefined;
  }
}
