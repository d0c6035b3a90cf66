import type { Database } from 'better-sqlite3';
import { NAMES_CACHED } from '../../base/limits.ts';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { checksumOf, isIntact } from '../db/checksum.ts';
import { inChunks, multiRowStatement } from '../db/multiRowStatement.ts';
import { EVENT_COLUMNS, EVENTS, type StoredEvent } from '../read/storedEvent.ts';

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
/** The tables of names, with the columns that are unique together. */
const NAMES = {
  session: ['name'],
  origin: ['venue', 'court', 'source', 'type', 'schema_version'],
} as const;
/** New names come seldom. Comparing 20,000 sessions with their index takes 10 ms. */
const HEAL_MS = 60_000;

/**
 * Inserts rows of events and of their names. Call it inside a transaction that holds the write lock. It remembers ids: make a new one
 * after a rollback, and when names have been deleted (../keep/pruneEvents.ts).
 */
export function eventRows(db: Database) {
  const originId = interner(db, 'origin');
  // OR FAIL: a row that fails rolls the whole transaction back anyway, so SQLite need not be able to undo
  // this statement alone, for which it would copy every page before changing it.
  const sql = (values: string) => `INSERT OR FAIL INTO event (${COLUMNS}) VALUES ${values}`;
  const statement = multiRowStatement(db, COLUMN_COUNT, sql);
  return {
    /** @returns the id of a session, which is inserted if it is new. */
    sessionId: interner(db, 'session'),

    insert(events: readonly NumberedEvent[]): void {
      for (const rows of inChunks(events)) {
        const values: (string | number | bigint | null)[] = [];
        for (const { seq, session, event, receivedMs } of rows) {
          const { venueId, courtId, source, type, schemaVersion } = event;
          values.push(seq, session, event.eventId, event.revision, event.eotNs, event.eot);
          values.push(originId(venueId, courtId, source, type, schemaVersion), event.confidence, receivedMs);
          const checksum = checksumOf(event, event.eotNs, { seq, receivedMs });
          values.push(checksum, event.payload, event.extra, event.erased ? 1 : null);
        }
        statement(rows.length).run(...values);
      }
    },
  };
}

/** @returns a function that gives names their id, under which a table has them. */
function interner(db: Database, table: keyof typeof NAMES): (...names: string[]) => number {
  const known = new Map<string, number>();
  const columns = NAMES[table];
  const marks = columns.map(() => '?');
  const all = (name: string) => `(${columns.map((column) => `${name}.${column}`)})`;
  // The name of the row and of its index: the disk may have changed one of the two.
  const named = `${all('i')} = (${marks}) AND ${all('r')} = ${all('i')}`;
  const agreeing = `SELECT i.id FROM ${table} i CROSS JOIN ${table} r NOT INDEXED ON r.id = i.id WHERE ${named}`;
  const find = db.prepare<string[], number>(agreeing).pluck();
  const add = db.prepare<string[]>(`INSERT INTO ${table} (${columns}) VALUES (${marks})`);
  let healFrom = 0;
  return (...names) => {
    // Names contain no control characters, so this is unambiguous.
    const text = names.join('\n');
    const knownId = known.get(text);
    if (knownId !== undefined) return knownId;
    let id = find.get(...names);
    if (id === undefined && performance.now() > healFrom) {
      healFrom = performance.now() + HEAL_MS;
      healNames(db);
      id = find.get(...names);
    }
    id ??= Number(add.run(...names).lastInsertRowid);
    // All rather than the oldest: a venue has far fewer names than the limit.
    if (known.size >= NAMES_CACHED) known.clear();
    // A part of a body keeps all of it in memory.
    known.set(Buffer.from(text).toString(), id);
    return id;
  };
}

/**
 * Rebuilds a table of names and its index if they differ, because the disk has changed one of the two: an event is intact only
 * under the names with which it came. Not if two rows would have the same names. Call it inside a transaction.
 */
export function healNames(db: Database): void {
  for (const [table, columns] of Object.entries(NAMES)) {
    const rows = `SELECT id, ${columns} FROM ${table} NOT INDEXED`;
    const index = `SELECT id, ${columns} FROM ${table} INDEXED BY sqlite_autoindex_${table}_1`;
    const differing = `SELECT id FROM (${rows} EXCEPT ${index}) UNION SELECT id FROM (${index} EXCEPT ${rows})`;
    const ids = db.prepare<[], number>(differing).pluck().all();
    if (ids.length === 0) continue;
    const newest = `SELECT ${EVENT_COLUMNS} FROM ${EVENTS} WHERE e.${table} = ? ORDER BY e.seq DESC LIMIT 10`;
    const events = db.prepare<[number], StoredEvent>(newest);
    const damaged = ids.filter((id) => !events.all(id).some(isIntact));
    db.exec(`CREATE TEMP TABLE healed AS SELECT * FROM ${table} NOT INDEXED`);
    db.prepare(`
      UPDATE temp.healed SET (${columns}) = (${columns.map((column) => `i.${column}`)}) FROM (${index}) AS i
       WHERE i.id = healed.id AND i.id IN (SELECT value FROM json_each(?))`).run(JSON.stringify(damaged));
    const equal = db.prepare(`SELECT 1 FROM temp.healed GROUP BY ${columns} HAVING count(*) > 1`).get();
    if (equal === undefined) db.exec(`DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM temp.healed`);
    db.exec('DROP TABLE temp.healed');
  }
}
