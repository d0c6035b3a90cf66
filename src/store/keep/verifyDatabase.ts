import Database from 'better-sqlite3';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { layoutOf } from '../db/openDatabase.ts';
import { SCHEMA_VERSION } from '../db/schema.ts';
import { startFault } from '../db/startFault.ts';
import { ARRIVAL_COLUMNS, ArrivalDecoder, type ArrivalRow } from '../read/arrivalRow.ts';
import { Damage } from '../read/damage.ts';

/** What a database contains. */
export interface Contents {
  readonly events: number;
  /** Sessions with events. */
  readonly sessions: number;
  /** The highest seq; 0 without events. */
  readonly lastSeq: number;
  /** When the newest event was received, milliseconds since 1970-01-01T00:00:00Z; null without events. */
  readonly newestMs: number | null;
  /** Which events are damaged, and which are missing, in sentences: everything else is intact. Absent: nothing. */
  readonly damage?: string;
}

/**
 * Reads every page and verifies every event of a copy that nobody else has open, and checks what a start does.
 * @param indexes also compares the indexes with their tables, which takes four seconds where the quick check
 * takes one. A copy that SQLite has just written does not need it.
 * @throws {OperatorError} if it is not an intact courtd database that this version can read; the message
 * is the end of a sentence about it.
 */
export function verifyDatabase(file: string, { indexes = false } = {}): Contents {
  const db = new Database(file, { readonly: true, fileMustExist: true, timeout: COMMAND_BUSY_MS });
  try {
    const version = layoutOf(db);
    if (version === 0) throw new OperatorError('is not a courtd database');
    if (version > SCHEMA_VERSION)
      throw new OperatorError('was written by a newer courtd, which can restore it');
    if (db.pragma(indexes ? 'integrity_check' : 'quick_check', { simple: true }) !== 'ok')
      throw new OperatorError('is damaged');
    const fault = startFault(db);
    if (fault !== undefined) throw new OperatorError(fault);
    const contents = db.prepare<[], Contents>(`
      SELECT count(*) AS events, count(DISTINCT session) AS sessions, coalesce(max(seq), 0) AS lastSeq,
             (SELECT received_ms FROM event ORDER BY seq DESC LIMIT 1) AS newestMs FROM event`);
    const damage = damageOf(db);
    return { ...contents.get()!, ...(damage.isFound && { damage: `${damage}` }) };
  } catch (error) {
    if (error instanceof Database.SqliteError) throw new OperatorError(`is damaged (${error.code})`);
    throw error;
  } finally {
    db.close();
  }
}

/** Verifies every event. @param on is called with how many were read. @returns those that do not match their checksum. */
export function damagedEvents(db: Database.Database, on: (events: number) => void = () => {}): Damage {
  const damage = new Damage();
  const decoder = new ArrivalDecoder(db);
  const rows = db.prepare<[], ArrivalRow>(`SELECT ${ARRIVAL_COLUMNS} FROM event e ORDER BY e.seq`).raw();
  let events = 0;
  for (const row of rows.iterate()) {
    decoder.event(row, damage);
    on(++events);
  }
  return damage;
}

function damageOf(db: Database.Database): Damage {
  const damage = damagedEvents(db);
  const miscounted = db.prepare<[], { name: string; counted: number; found: number }>(`
    WITH found AS (SELECT session, count(*) AS events FROM event GROUP BY session)
    SELECT s.name, s.events AS counted, ifnull(f.events, 0) AS found
      FROM session_total s LEFT JOIN found f ON f.session = s.id WHERE counted <> found`);
  for (const { name, counted, found } of miscounted.iterate()) damage.miscount(name, counted, found);
  return damage;
}
