import type { Database } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/event.ts';
import { checksumOf } from '../layout/checksum.ts';
import { inChunks, MultiRowStatement } from '../sqlite/multiRowStatement.ts';
import type { SessionCounters } from './sessionCounters.ts';

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
const COLUMNS = [
  'seq',
  'session',
  'event_id',
  'revision',
  'eot_ns',
  'eot',
  'origin',
  'confidence',
  'received_ms',
  'seq_step',
  'checksum',
  'payload',
  'extra',
  'erased',
];

/** Inserts rows of events, and counts them for their sessions. Call `insert` inside a transaction, then `committed` or `rolledBack`. */
export class EventInserter {
  readonly #sessions: SessionCounters;
  readonly #insert: MultiRowStatement;
  /** The seq of the event that was stored last; and as of the last commit. */
  #lastStored: number;
  #lastCommitted: number;

  constructor(db: Database, sessions: SessionCounters) {
    this.#sessions = sessions;
    // OR FAIL: a row that fails rolls the whole transaction back anyway, so SQLite need not be able to undo
    // this statement alone, for which it would copy every page before changing it.
    this.#insert = new MultiRowStatement(
      db,
      COLUMNS.length,
      (values) => `INSERT OR FAIL INTO event (${COLUMNS.join(', ')}) VALUES ${values}`,
    );
    this.#lastStored = db.prepare<[], number | null>('SELECT max(seq) FROM event').pluck().get() ?? 0;
    this.#lastCommitted = this.#lastStored;
  }

  insert(events: readonly NumberedEvent[]): void {
    for (const rows of inChunks(events)) {
      // Of its final length: growing one row by row cost a tenth of a commit of 2,000 events.
      const values = new Array<string | number | bigint | null>(rows.length * COLUMNS.length);
      let at = 0;
      for (const { seq, session, origin, originChecksum, event, receivedMs } of rows) {
        this.#sessions.addEvent(session, event.eotNs, seq);
        values[at++] = seq;
        values[at++] = session;
        values[at++] = event.eventId;
        values[at++] = event.revision;
        values[at++] = event.eotNs;
        values[at++] = event.eot;
        values[at++] = origin;
        values[at++] = event.confidence;
        values[at++] = receivedMs;
        // Not known of the few that are stored after later events of the same transaction.
        const seqStep = Math.max(0, seq - this.#lastStored);
        this.#lastStored += seqStep;
        values[at++] = seqStep;
        values[at++] = checksumOf(event, { seq, seqStep, receivedMs }, originChecksum);
        values[at++] = event.payload;
        values[at++] = event.extra;
        values[at++] = event.erased ? 1 : null;
      }
      this.#insert.run(values);
    }
  }

  /** Call it after the transaction has been committed. */
  committed(): void {
    this.#lastCommitted = this.#lastStored;
  }

  rolledBack(): void {
    this.#lastStored = this.#lastCommitted;
  }
}
