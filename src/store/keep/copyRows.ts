import type { Database } from 'better-sqlite3';
import { keyHash } from '../db/keyHash.ts';
import { sessionCounter } from '../db/sessionCounter.ts';
import { COPY_EVENTS } from '../db/sizes.ts';

type Row = readonly (string | number | bigint | Buffer | null)[];
/** Rows by a text of each. */
type Rows = ReadonlyMap<string, Row>;

/** A part of the log of a box. */
export interface LogPart {
  /** The seq behind which it begins, and its last one. */
  readonly after: number;
  readonly upTo: number;
  readonly events: Rows;
}

const PART = 'SELECT * FROM event WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?';
/** The copy has no table of keys, and counts nothing: a restore makes both. */
const NAMES = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
                  AND name NOT IN ('event', 'key', 'flushed')`;
/** In the copy no erasure is finished: a restore applies it to what the copy has not followed yet. */
const INSTEAD: Readonly<Record<string, string>> = {
  session: 'SELECT id, name, 0, NULL, NULL, NULL, NULL, duplicates FROM session',
  erasure: 'SELECT key, player, before_ns, at_ms, NULL FROM erasure',
};

/** @returns the events behind a seq: as many as one transaction takes. */
export function readEvents(db: Database, after: number, to = Number.MAX_SAFE_INTEGER): LogPart {
  const events = readRows(db, PART, after, to, COPY_EVENTS);
  return { after, upTo: events.size < COPY_EVENTS ? to : Number([...events.values()].at(-1)![0]), events };
}

/** Makes a part of a copy as the box has it. Call it inside a transaction. */
export function writeEvents(copy: Database, { after, upTo, events }: LogPart): void {
  writeRows(copy, 'event', readRows(copy, PART, after, upTo, -1), events);
}

/** @returns the bytes of the other tables, and of the events that are compared behind a seq. Long values are not read for it. */
export function sizesOf(db: Database, after: number): ReadonlyMap<string, number> {
  const lengths = ['event_id', 'eot', 'payload', 'extra'].map((name) => `ifnull(octet_length(${name}), 0)`);
  const sizes = db.prepare<[number, number], [string, number]>(`
    SELECT t.name, pgsize FROM (${NAMES}) t CROSS JOIN dbstat('main') d ON d.name = t.name AND aggregate = TRUE
     UNION ALL SELECT 'event', total(${lengths.join(' + ')}) FROM event WHERE seq > ? AND seq <= ?`);
  return new Map(sizes.raw().all(after, after + COPY_EVENTS));
}

/** @returns what the copy has of the other tables, which are small. Call it inside a transaction. */
export function readTables(db: Database): ReadonlyMap<string, Rows> {
  const names = db.prepare<[], string>(NAMES).pluck().all();
  return new Map(names.map((name) => [name, readRows(db, INSTEAD[name] ?? `SELECT * FROM ${name}`)]));
}

/** Makes the other tables of a copy as the box has them. Call it inside a transaction. */
export function writeTables(copy: Database, tables: ReadonlyMap<string, Rows>): void {
  for (const [table, there] of readTables(copy)) writeRows(copy, table, there, tables.get(table)!);
}

function readRows(db: Database, sql: string, ...bounds: number[]): Rows {
  const rows = db.prepare<number[], Row>(sql).raw().safeIntegers();
  const plain = (_name: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value);
  return new Map(rows.all(...bounds).map((row) => [JSON.stringify(row, plain), row]));
}

/** Deletes the rows of a copy that the box does not have, and adds those that only the box has. */
function writeRows(copy: Database, table: string, there: Rows, rows: Rows): void {
  const columns = copy.prepare(`SELECT * FROM ${table}`).columns();
  const isSame = columns.map(({ name }) => `${name} IS ?`).join(' AND ');
  const remove = copy.prepare<unknown[]>(`DELETE FROM ${table} WHERE ${isSame}`);
  const values = columns.map(() => '?').join(', ');
  const put = copy.prepare<unknown[]>(`INSERT OR REPLACE INTO ${table} VALUES (${values})`);
  // The copy may still have events of a session that the box has deleted.
  const isKept = table === 'session';
  if (!isKept) for (const [text, row] of there) if (!rows.has(text)) remove.run(...row);
  const added = [...rows].flatMap(([text, row]) => (there.has(text) ? [] : [row]));
  for (const row of added) put.run(...row);
  if (!isKept) return;
  // A name that came again under another id has replaced its row: the box has deleted the events of that one.
  const ids = new Set([...there.values(), ...added].map(([id]) => id));
  if (copy.prepare<[], number>('SELECT count(*) FROM session').pluck().get()! < ids.size)
    copy.exec('DELETE FROM event WHERE session NOT IN (SELECT id FROM session)');
}

/**
 * Makes what a copy does not have: the keys of its events, and the counts of its sessions. A copy may still have an event that the box
 * has pruned since, next to the same event as it came again: the later one stays. Call it inside a transaction, before the database is
 * a box's.
 */
export function completeKeys(db: Database): void {
  db.function('key_hash', { deterministic: true }, keyHash);
  const behind = 'seq > (SELECT up_to FROM flushed)';
  db.exec(`
    INSERT OR REPLACE INTO key SELECT session, key_hash(event_id), revision, seq FROM event WHERE ${behind} ORDER BY 1, 2, 3, 4;
    DELETE FROM event WHERE ${behind} AND seq NOT IN (SELECT seq FROM key WHERE ${behind});
    UPDATE flushed SET up_to = max(up_to, ifnull((SELECT max(seq) FROM event), 0))`);
  sessionCounter(db)();
}
