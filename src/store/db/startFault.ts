import Database from 'better-sqlite3';
import { visible } from '../../base/visibleText.ts';
import { LAST_GIVEN_SEQ, SEQ_END } from './epochs.ts';
import { layoutOf, makeLayout, SCHEMA_VERSION } from './schema.ts';

/** The statistics of ANALYZE are nobody's harm. */
const PARTS = `SELECT type || ' "' || name || '"', tbl_name || ' ' || sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_stat_' ESCAPE '~'`;
/** Tables that every event needs. */
const TABLES = ['session', 'origin', 'flushed', 'token'];
/** Whether tables have the rows that courtd gives them, and events can be given seqs. */
const HAS_ROWS = ['flushed', 'pruned', 'running_time', 'secret', 'epoch']
  .map((table) => `(SELECT count(*) FROM ${table}) ${table === 'epoch' ? '> 0' : '= 1'}`)
  .concat(`${LAST_GIVEN_SEQ} < ${SEQ_END}`)
  .join(' AND ');

/**
 * Checks the layout and the tables that every event needs; checking the whole file would take seconds.
 * @returns what keeps a daemon from using the database, as the end of a sentence; undefined if nothing does.
 * @throws {SqliteError} if that cannot be read.
 */
export function startFault(db: Database.Database): string | undefined {
  const fault = layoutFault(db);
  if (fault !== undefined) return fault;
  const isIntact = (table: string) => db.pragma(`quick_check(${table})`, { simple: true }) === 'ok';
  // What a start reads.
  db.prepare('SELECT max(event_id) FROM event WHERE seq > (SELECT up_to FROM flushed)').get();
  const isWhole = TABLES.every(isIntact) && db.prepare(`SELECT ${HAS_ROWS}`).pluck().get() === 1;
  return isWhole ? undefined : 'is damaged';
}

/**
 * Compares the tables, indexes, triggers and views of a database with those of a new one. SQLite runs what a file
 * holds: with a trigger of somebody else's, an event could be acknowledged and be gone. Takes two milliseconds.
 * @returns what differs, as the end of a sentence about the file; undefined if nothing does.
 */
export function layoutFault(db: Database.Database): string | undefined {
  if (layoutOf(db) > SCHEMA_VERSION) return 'was written by a newer courtd, which can read it';
  const model = new Database(':memory:');
  makeLayout(model);
  const [other] = partsOf(model).symmetricDifference(partsOf(db));
  model.close();
  return other && `is not as courtd made it (${visible(other.split('\n', 1)[0]!)})`;
}

/** @returns the kind and the name of each part, and in a second line what makes it: white space and comments aside. */
function partsOf(db: Database.Database): Set<string> {
  const rows = db.prepare<[], [string, string | null]>(PARTS).raw().all();
  return new Set(rows.map(([name, sql]) => `${name}\n${sql?.replace(/--[^\n]*/g, '').replace(/\s+/g, ' ')}`));
}
