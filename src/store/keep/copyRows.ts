import type { Database } from 'better-sqlite3';
import { COPY_EVENTS } from '../db/sizes.ts';

type Value = string | number | bigint | Buffer | null;
type Row = readonly Value[];
/** The rows of the tables other than that of events, by a text of each. */
type Tables = ReadonlyMap<string, ReadonlyMap<string, Row>>;

/** How the events of a box differ from those of its copy, in a part of the log that one transaction takes over. */
export interface DifferingEvents {
  readonly put: readonly Row[];
  /** Seqs. */
  readonly gone: readonly number[];
  /** The last seq of the part. */
  readonly upTo: number;
  /** Whether the log ends there. */
  readonly isLast: boolean;
}

/** Two versions of an event differ in it; the mark of an erasure too, since that of a damaged event keeps its checksum. */
const LOOK = 'checksum * 2 + ifnull(erased, 0)';
/** The copy has no table of keys, and counts nothing: a restore makes both. */
const NAMES = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
                  AND name NOT IN ('event', 'key', 'flushed')`;
/** In the copy no erasure is finished: a restore applies it to what the copy has not followed yet. */
const INSTEAD: Readonly<Record<string, string>> = {
  session: 'SELECT id, name, 0, NULL, NULL, NULL, NULL, duplicates FROM session',
  erasure: 'SELECT key, player, before_ns, at_ms, NULL FROM erasure',
};

/** @returns the events of a copy behind a seq: as many as one transaction compares, by their seq. */
export function eventsOf(copy: Database, after: number): ReadonlyMap<number, bigint> {
  const events = copy.prepare<[number, number], [bigint, bigint]>(
    `SELECT seq, ${LOOK} FROM event WHERE seq > ? ORDER BY seq LIMIT ?`,
  );
  const rows = events.raw().safeIntegers().all(after, COPY_EVENTS);
  return new Map(rows.map(([seq, look]) => [Number(seq), look]));
}

/** @param have what a copy has behind the seq `after`. */
export function differingEvents(
  db: Database,
  after: number,
  have: ReadonlyMap<number, bigint>,
): DifferingEvents {
  const isEnd = have.size < COPY_EVENTS;
  const to = isEnd ? Number.MAX_SAFE_INTEGER : [...have.keys()].at(-1)!;
  const events = db.prepare<number[], Row>(
    `SELECT ${LOOK}, * FROM event WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
  );
  const rows = events.raw().safeIntegers().all(after, to, COPY_EVENTS);
  const isCut = rows.length === COPY_EVENTS;
  const put: Row[] = [];
  const gone = new Set(have.keys());
  let last = after;
  for (const [look, ...row] of rows) {
    last = Number(row[0]);
    gone.delete(last);
    if (have.get(last) !== look) put.push(row);
  }
  return {
    put,
    gone: [...gone].filter((seq) => !isCut || seq < last),
    upTo: isCut || isEnd ? last : to,
    isLast: isEnd && !isCut,
  };
}

/** Makes the events of a copy as the box has them. Call it inside a transaction. */
export function writeEvents(copy: Database, { put, gone }: DifferingEvents): void {
  putRows(copy, 'event', put);
  const remove = copy.prepare('DELETE FROM event WHERE seq = ?');
  for (const seq of gone) remove.run(seq);
}

/** @returns what the copy has of the other tables, which are small. Call it inside a transaction. */
export function readTables(db: Database): Tables {
  const names = db.prepare<[], string>(NAMES).pluck().all();
  return new Map(
    names.map((name) => {
      const rows = db.prepare<[], Row>(INSTEAD[name] ?? `SELECT * FROM ${name}`);
      const all = rows.raw().safeIntegers().all();
      return [name, new Map(all.map((row) => [textOf(row), row]))];
    }),
  );
}

/** Writes the rows of a copy that differ from those of the box. Call it inside a transaction. */
export function writeTables(copy: Database, tables: Tables): void {
  for (const [table, there] of readTables(copy)) {
    const rows = tables.get(table)!;
    const columns = copy.prepare(`SELECT * FROM ${table}`).columns();
    const isSame = columns.map(({ name }) => `${name} IS ?`).join(' AND ');
    const remove = copy.prepare<Value[]>(`DELETE FROM ${table} WHERE ${isSame}`);
    // The copy may still have events of a session that the box has deleted.
    const isKept = table === 'session';
    if (!isKept) for (const [text, row] of there) if (!rows.has(text)) remove.run(...row);
    const put = [...rows].flatMap(([text, row]) => (there.has(text) ? [] : [row]));
    putRows(copy, table, put);
    const ids = new Set([...there.values(), ...put].map(([id]) => id));
    const count = copy.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck();
    // A name that came again under another id has replaced its row: the box has deleted the events of that one.
    if (isKept && count.get()! < ids.size)
      copy.exec('DELETE FROM event WHERE session NOT IN (SELECT id FROM session)');
  }
}

function putRows(copy: Database, table: string, rows: readonly Row[]): void {
  if (rows.length === 0) return;
  const values = rows[0]!.map(() => '?').join(', ');
  const put = copy.prepare<Value[]>(`INSERT OR REPLACE INTO ${table} VALUES (${values})`);
  for (const row of rows) put.run(...row);
}

function textOf(row: Row): string {
  return JSON.stringify(row, (_name, value) => (typeof value === 'bigint' ? `${value}` : value));
}
