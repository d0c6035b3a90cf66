import type { Database } from 'better-sqlite3';
import { NAMES_CACHED } from '../../base/limits.ts';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { checksumOf } from '../db/checksum.ts';
import { inChunks, multiRowStatement } from '../db/multiRowStatement.ts';

/** An event that is to be stored. */
export interface NumberedEvent {
  readonly seq: number;
  /** The id of its session. */
  readonly session: number;
  readonly event: CourtEvent;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
}

/** In the order in which `insert` binds them. */
const COLUMNS =
  'seq, session, event_id, revision, eot_ns, eot, origin, confidence, received_ms, checksum, payload, extra, erased';
const COLUMN_COUNT = COLUMNS.split(',').length;

/**
 * Inserts rows of events and of their names. Call it inside a transaction that holds the write lock. It remembers ids: make a new one
 * after a rollback, and when names have been deleted (../keep/pruneEvents.ts).
 */
export function eventRows(db: Database) {
  const originId = interner(db, 'origin', ['venue', 'court', 'source', 'type', 'schema_version']);
  // OR FAIL: a row that fails rolls the whole transaction back anyway, so SQLite need not be able to undo
  // this statement alone, for which it would copy every page before changing it.
  const sql = (values: string) => `INSERT OR FAIL INTO event (${COLUMNS}) VALUES ${values}`;
  const statement = multiRowStatement(db, COLUMN_COUNT, sql);
  return {
    /** @returns the id of a session, which is inserted if it is new. */
    sessionId: interner(db, 'session', ['name']),

    insert(events: readonly NumberedEvent[]): void {
      for (const rows of inChunks(events)) {
        // Of its final length: growing one row by row cost a tenth of a commit of 2,000 events.
        const values = new Array<string | number | bigint | null>(rows.length * COLUMN_COUNT);
        let at = 0;
        for (const { seq, session, event, receivedMs } of rows) {
          const { venueId, courtId, source, type, schemaVersion } = event;
          values[at++] = seq;
          values[at++] = session;
          values[at++] = event.eventId;
          values[at++] = event.revision;
          values[at++] = event.eotNs;
          values[at++] = event.eot;
          values[at++] = originId(venueId, courtId, source, type, schemaVersion);
          values[at++] = event.confidence;
          values[at++] = receivedMs;
          values[at++] = checksumOf(event, event.eotNs, { seq, receivedMs });
          values[at++] = event.payload;
          values[at++] = event.extra;
          values[at++] = event.erased ? 1 : null;
        }
        statement(rows.length).run(...values);
      }
    },
  };
}

/** @returns a function that gives names their id, under which a table has them. */
function interner(db: Database, table: string, columns: readonly string[]): (...names: string[]) => number {
  const known = new Map<string, number>();
  const marks = columns.map(() => '?');
  const find = db
    .prepare<string[], number>(`SELECT id FROM ${table} WHERE (${columns}) = (${marks})`)
    .pluck();
  const add = db.prepare<string[]>(`INSERT INTO ${table} (${columns}) VALUES (${marks})`);
  return (...names) => {
    // Names contain no control characters, so this is unambiguous.
    const text = names.join('\n');
    const knownId = known.get(text);
    if (knownId !== undefined) return knownId;
    const id = find.get(...names) ?? Number(add.run(...names).lastInsertRowid);
    // All rather than the oldest: a venue has far fewer names than the limit.
    if (known.size >= NAMES_CACHED) known.clear();
    // A part of a body keeps all of it in memory.
    known.set(Buffer.from(text).toString(), id);
    return id;
  };
}
