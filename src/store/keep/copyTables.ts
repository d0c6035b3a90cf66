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
const NAMES = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
                  AND name NOT IN ('event', 'key', 'flushed') ORDER BY name`;
const UNCOUNTED = 'SELECT id, name, 0, NULL, NULL, NULL, NULL, duplicates FROM session';
const UNFINISHED = 'SELECT key, player, before_ns, at_ms, NULL FROM erasure';
/** Until events have been deleted in the copy, they need these. */
const NEEDED = ['session', 'origin'];

/**
 * @param isSettled nothing was deleted or erased in the box that the copy still has. @returns the rows of all other tables.
 * Call it inside a transaction.
 */
export function readTables(db: Database, isSettled: boolean): Tables {
  const rows = db
    .prepare<[], string>(NAMES)
    .pluck()
    .all()
    .map((name) => {
      if (name === 'session') return [name, rowsOf(db, UNCOUNTED)] as const;
      const sql = name === 'erasure' && !isSettled ? UNFINISHED : `SELECT * FROM ${name}`;
      return [name, rowsOf(db, sql)] as const;
    });
  return { rows: new Map(rows), isSettled };
}

function rowsOf(db: Database, sql: string): Rows {
  const rows = db.prepare<[], Row>(sql).raw().safeIntegers();
  return new Map(rows.all().map((row) => [textOf(row), row]));
}

/** Makes the tables of a copy equal. Call it inside a transaction. */
export function writeTables(copy: Database, { rows: tables, isSettled }: Tables): void {
  for (const [table, rows] of tables) {
    const all = `SELECT * FROM ${table}`;
    const there = rowsOf(copy, all);
    const columns = copy.prepare(all).columns();
    const same = columns.map(({ name }) => `${name} IS ?`).join(' AND ');
    const remove = copy.prepare<Value[]>(`DELETE FROM ${table} WHERE ${same}`);
    const values = columns.map(() => '?').join(', ');
    const put = copy.prepare<Value[]>(`INSERT OR REPLACE INTO ${table} VALUES (${values})`);
    if (isSettled || !NEEDED.includes(table))
      for (const [text, row] of there) if (!rows.has(text)) remove.run(...row);
    for (const [text, row] of rows) if (!there.has(text)) put.run(...row);
  }
}

function textOf(row: Row): string {
  return row
    .map((value) => `${typeof value}:${Buffer.isBuffer(value) ? value.toString('hex') : value}`)
    .join('\n');
}
