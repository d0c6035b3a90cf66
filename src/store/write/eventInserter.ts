import type { Database } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { checksumOf } from '../db/checksum.ts';
import { inChunks, type MultiRowStatement, multiRowStatement } from '../db/multiRowStatement.ts';

/** An event that is to be stored, with its seq and the ids of its names. */
export interface NumberedEvent {
  readonly seq: number;
  readonly session: number;
  readonly origin: number;
  readonly originChecksum: number;
  readonly event: CourtEvent;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
}

/** In the order in which `insert` binds them. */
const COLUMNS =
  'seq, session, event_id, revision, eot_ns, eot, origin, confidence, received_ms, checksum, payload, extra, erased';
const COLUMN_COUNT = COLUMNS.split(',').length;

/** Inserts rows of events. */
export class EventInserter {
  readonly #insert: MultiRowStatement;

  constructor(db: Database) {
    // OR FAIL: a row that fails rolls the whole transaction back anyway, so SQLite need not be able to undo
    // this statement alone, for which it would copy every page before changing it.
    this.#insert = multiRowStatement(
      db,
      COLUMN_COUNT,
      (values) => `INSERT OR FAIL INTO event (${COLUMNS}) VALUES ${values}`,
    );
  }

  /** Call it inside a transaction. */
  insert(events: readonly NumberedEvent[]): void {
    for (const rows of inChunks(events)) {
      // Of its final length: growing one row by row cost a tenth of a commit of 2,000 events.
      const values = new Array<string | number | bigint | null>(rows.length * COLUMN_COUNT);
      let at = 0;
      for (const { seq, session, origin, originChecksum, event, receivedMs } of rows) {
        values[at++] = seq;
        values[at++] = session;
        values[at++] = event.eventId;
        values[at++] = event.revision;
        values[at++] = event.eotNs;
        values[at++] = event.eot;
        values[at++] = origin;
        values[at++] = event.confidence;
        values[at++] = receivedMs;
        values[at++] = checksumOf(event, { seq, receivedMs }, originChecksum);
        values[at++] = event.payload;
        values[at++] = event.extra;
        values[at++] = event.erased ? 1 : null;
      }
      this.#insert.run(values);
    }
  }
}
