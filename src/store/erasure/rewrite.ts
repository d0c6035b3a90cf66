import type { Database } from 'better-sqlite3';
import type { RemainingPage } from './remains.ts';

/**
 * Overwrites the free space of pages, where SQLite has left copies of rows that it moved. Call all of it inside a transaction, with
 * `secure_delete`: a page that is freed is overwritten.
 */

/** The tables whose rows hold what cameras sent, with their rowids. */
const TABLES = [
  ['event', 'seq'],
  ['conflict_copy', 'seq'],
  ['rejection', 'turn'],
] as const;

/** Deletes the rows of a page and inserts them again: the page is freed. */
export function rewritePage(db: Database, { first, last, rows: count }: RemainingPage): void {
  if (count === 0) return;
  for (const [table, rowid] of TABLES) {
    const between = `FROM ${table} WHERE ${rowid} BETWEEN ? AND ?`;
    const rows = readRaw(db, between, first, last);
    // Of another table.
    if (rows.length !== count) continue;
    db.prepare(`DELETE ${between}`).run(first, last);
    insertAll(db, table, rows);
  }
}

/** The root page of an empty table is cleared as a whole. */
export function clearEmpty(db: Database): void {
  for (const [table] of TABLES) {
    if (db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() === undefined) db.exec(`DELETE FROM ${table}`);
  }
}

/** Of a table that is small. Deleting all rows overwrites all pages. */
export function rewriteTable(db: Database, table: string): void {
  const rows = readRaw(db, `FROM ${table}`);
  db.exec(`DELETE FROM ${table}`);
  insertAll(db, table, rows);
}

/** @returns the numbers of all pages of tables, and of their indexes. */
export function pagesOf(db: Database, tables: readonly string[]): Set<number> {
  const names = db.prepare<[string], string>('SELECT name FROM sqlite_schema WHERE tbl_name = ?').pluck();
  const pages = db.prepare<[string], number>('SELECT pageno FROM dbstat WHERE name = ?').pluck();
  return new Set(tables.flatMap((table) => names.all(table)).flatMap((name) => pages.all(name)));
}

function readRaw(db: Database, from: string, ...bound: number[]): unknown[][] {
  const rows = db.prepare<number[], unknown[]>(`SELECT * ${from}`);
  return rows
    .raw()
    .safeIntegers()
    .all(...bound);
}

function insertAll(db: Database, table: string, rows: readonly unknown[][]): void {
  if (rows.length === 0) return;
  const insert = db.prepare(`INSERT INTO ${table} VALUES (${rows[0]!.map(() => '?').join()})`);
  for (const row of rows) insert.run(row);
}
