import type { Database } from 'better-sqlite3';
import { sessionCounter } from '../db/sessionCounter.ts';
import { newestKeys } from '../read/storedKeys.ts';

/** What a box has of a table. */
export interface TablePart {
  readonly table: string;
  /** SQL: which rows. */
  readonly where: string;
  readonly rows: readonly object[];
  /** As of `bytesOf`. */
  readonly bytes: number;
}

/** The copy has no table of keys, and counts nothing: a restore makes both. */
const NAMES = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
                  AND name NOT IN ('event', 'key', 'flushed')`;
/** In the copy no erasure is finished: a restore applies it to what the copy has not followed yet. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  session: ['id', 'name', 'duplicates'],
  erasure: ['key', 'player', 'before_ns', 'at_ms'],
};
/** The copy may still have events of a session that the box has deleted. */
const KEPT = ['session', 'origin'];
/** A name that came again under another id replaces its row: the box has deleted the events of that one. */
const COMES_AGAIN = `
  CREATE TEMP TRIGGER comes_again BEFORE INSERT ON session WHEN EXISTS (SELECT 1 FROM session WHERE name = new.name AND id <> new.id)
  BEGIN DELETE FROM event WHERE session = (SELECT id FROM session WHERE name = new.name); END`;

/** @returns the other tables, which are small. Call it inside a transaction. */
export function readTables(db: Database): TablePart[] {
  const names = db.prepare<[], string>(NAMES).pluck().all();
  return names.map((name) => readRows(db, name, 'TRUE'));
}

/** @returns the events of a part of the log, after their names. Call it inside a transaction. */
export function readEvents(db: Database, after: number, upTo: number): TablePart[] {
  const where = `seq > ${after} AND seq <= ${upTo}`;
  const named = (column: string) => `id IN (SELECT ${column} FROM event WHERE ${where})`;
  return [
    readRows(db, 'session', named('session')),
    readRows(db, 'origin', named('origin')),
    readRows(db, 'event', where),
  ];
}

function readRows(db: Database, table: string, where: string): TablePart {
  const rows = db.prepare<[], object>(`SELECT ${columnsOf(db, table)} FROM ${table} WHERE ${where}`);
  return { table, where, rows: rows.safeIntegers().all(), bytes: bytesOf(db, table, where) };
}

function columnsOf(db: Database, table: string): readonly string[] {
  const columns = () => db.prepare(`SELECT * FROM ${table}`).columns();
  return COLUMNS[table] ?? columns().map(({ name }) => name);
}

/** @returns roughly the bytes of some rows. Long values are not read for it. */
export function bytesOf(db: Database, table: string, where: string): number {
  const lengths = columnsOf(db, table).map((name) => `ifnull(octet_length(${name}), 0)`);
  const sum = `SELECT total(16 + ${lengths.join(' + ')}) FROM ${table} WHERE ${where}`;
  return db.prepare<[], number>(sum).pluck().get()!;
}

/** Makes parts of a copy as the box has them. Call it inside a transaction, once for a connection. */
export function writeParts(copy: Database, parts: readonly TablePart[]): void {
  copy.exec(COMES_AGAIN);
  for (const { table, where, rows } of parts) {
    const columns = columnsOf(copy, table);
    const values = columns.map((name) => `@${name}`);
    const isSame = columns.map((name) => `${name} IS @${name}`).join(' AND ');
    const put = copy.prepare<[object]>(`INSERT OR REPLACE INTO ${table} (${columns}) VALUES (${values})`);
    const has = copy.prepare<[object], 1>(`SELECT 1 FROM ${table} WHERE ${isSame}`);
    const counted = copy.prepare<[], number>(`SELECT count(*) FROM ${table} WHERE ${where}`).pluck();
    const isEmpty = counted.get() === 0;
    for (const row of rows) if (isEmpty || has.get(row) === undefined) put.run(row);
    if (counted.get()! <= rows.length || KEPT.includes(table)) continue;
    // The box has deleted some.
    copy.exec(`DELETE FROM ${table} WHERE ${where}`);
    for (const row of rows) put.run(row);
  }
}

/**
 * Makes what a copy does not have: the keys of its events, and the counts of its sessions. A copy may still have an event that the box
 * has pruned since, next to the same event as it came again: the later one stays. It may have conflicts of events that it did not follow
 * any more: their seqs will be given to others. Call it inside a transaction, before the database is a box's.
 */
export function completeKeys(db: Database): void {
  const behind = 'seq > (SELECT up_to FROM flushed)';
  db.exec(`
    INSERT OR REPLACE INTO key ${newestKeys(db)} ORDER BY 1, 2, 3, 4;
    DELETE FROM event WHERE ${behind} AND seq NOT IN (SELECT seq FROM key WHERE ${behind});
    DELETE FROM conflict WHERE seq NOT IN (SELECT seq FROM event);
    DELETE FROM conflict_copy WHERE seq NOT IN (SELECT seq FROM event);
    UPDATE flushed SET up_to = max(up_to, ifnull((SELECT max(seq) FROM event), 0))`);
  sessionCounter(db)();
}
