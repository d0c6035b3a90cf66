import type { Database } from 'better-sqlite3';
import type { RemainingPage } from './findRemains.ts';

/**
 * Overwrites the free space of pages, where SQLite has left copies of rows that it moved. Call all of it inside a transaction, with
 * `secure_delete`: a page that is freed is overwritten.
 */

/** The tables whose rows hold what cameras sent, with their rowids, and a text of each row. */
const TABLES = [
  ['event', 'seq', 'payload'],
  ['conflict_copy', 'seq', 'event'],
] as const;
/** A row of more bytes does not stay in its page ("Database File Format", 1.6), less what its other columns may take. */
const ROW_BYTES = 4_061 - 200;
/** By so much the sizes in a row may grow with it. */
const SIZES_BYTES = 4;
/** What is left has no room for a trace of anybody. */
const FEW_BYTES = 8;

/**
 * Lets rows of a page grow until they fill it, and then be as they were: what they give back is overwritten. Rows that do not lie in
 * one page are left alone.
 */
export function fillPage(db: Database, { first, last, rows: count, free }: RemainingPage): void {
  if (count === 0) return;
  for (const [table, rowid, column] of TABLES) {
    const rows = db
      .prepare<[number, number], { id: number; text: string; bytes: number }>(
        `SELECT ${rowid} AS id, ${column} AS text, ${bytesOf(db, table)} AS bytes FROM ${table}
          WHERE ${rowid} BETWEEN ? AND ? AND ${column} IS NOT NULL`,
      )
      .all(first, last);
    const update = db.prepare<[string, number]>(`UPDATE ${table} SET ${column} = ? WHERE ${rowid} = ?`);
    const grown: typeof rows = [];
    let left = free;
    for (const row of rows) {
      const more = Math.min(left - SIZES_BYTES, ROW_BYTES - row.bytes);
      if (more < FEW_BYTES) continue;
      update.run(row.text + ' '.repeat(more), row.id);
      left -= more + SIZES_BYTES / 2;
      grown.push(row);
    }
    for (const { text, id } of grown) update.run(text, id);
    if (rows.length === count) return;
  }
}

/** @returns SQL for the bytes of the texts and blobs of a row. */
function bytesOf(db: Database, table: string): string {
  const columns = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table);
  return columns.map((name) => `ifnull(octet_length(${name}), 0)`).join(' + ');
}

/** Deletes the rows of a page and inserts them again: most often the page is freed. */
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
