import type { Database } from 'better-sqlite3';

/** All tables but that of the events are small: they are compared whole, and only rows that differ are written. */

type Value = string | number | bigint | Buffer | null;
export type Row = readonly Value[];
/** The rows of a table, by a text of each. */
type Rows = ReadonlyMap<string, Row>;

export interface Tables {
  /** By the name of the table. */
  readonly rows: ReadonlyMap<string, Rows>;
  readonly isSettled: boolean;
}

/** The events are copied by their seq. The copy has no table of keys, and counts nothing: who restores it makes both. */
const APART = ['event', 'key', 'flushed'];

/** What a restore of the copy does itself is left out: counts, and that an erasure has reached every event. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  events: '0',
  first_ns: 'NULL',
  first_eot: 'NULL',
  last_ns: 'NULL',
  last_eot: 'NULL',
};
/** Until events have been deleted in the copy, they need these. */
const NAMES = ['session', 'origin'];

/**
 * @param isSettled nothing was deleted or erased in the box that the copy still has. @returns the rows of all other tables.
 * Call it inside a transaction.
 */
export function readTables(db: Database, isSettled: boolean): Tables {
  const names = db
    .prepare<[], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name`,
    )
    .pluck()
    .all()
    .filter((name) => !APART.includes(name));
  const rows = names.map((name) => {
    const columns = columnsOf(db, name).map((column) => {
      if (name === 'session') return LEFT_OUT[column] ?? column;
      return column === 'finished_ms' && !isSettled ? 'NULL' : column;
    });
    return [name, rowsOf(db, name, columns)] as const;
  });
  return { rows: new Map(rows), isSettled };
}

function columnsOf(db: Database, table: string): string[] {
  return db.prepare<[], string>(`SELECT name FROM pragma_table_info('${table}') ORDER BY cid`).pluck().all();
}

function rowsOf(db: Database, table: string, columns: readonly string[]): Rows {
  const rows = db
    .prepare<[], Row>(`SELECT ${columns.join(', ')} FROM ${table}`)
    .raw()
    .safeIntegers();
  return new Map([...rows.iterate()].map((row) => [textOf(row), row]));
}

/** Makes the tables of a copy equal. Call it inside a transaction. */
export function writeTables(copy: Database, { rows: tables, isSettled }: Tables): void {
  for (const [table, rows] of tables) {
    const columns = columnsOf(copy, table);
    const there = rowsOf(copy, table, columns);
    const same = columns.map((column) => `${column} IS ?`).join(' AND ');
    const remove = copy.prepare<Value[]>(`DELETE FROM ${table} WHERE ${same}`);
    const put = copy.prepare<Value[]>(
      `INSERT OR REPLACE INTO ${table} VALUES (${columns.map(() => '?').join(', ')})`,
    );
    if (isSettled || !NAMES.includes(table))
      for (const [text, row] of there) if (!rows.has(text)) remove.run(...row);
    for (const [text, row] of rows) if (!there.has(text)) put.run(...row);
  }
}

function textOf(row: Row): string {
  return row
    .map((value) => `${typeof value}:${Buffer.isBuffer(value) ? value.toString('hex') : value}`)
    .join('\n');
}
