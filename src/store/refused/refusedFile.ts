import fs from 'node:fs';
import zlib from 'node:zlib';
import Database from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import type { Naming } from '../../protocol/playerRedaction.ts';
import { explain } from '../db/openErrors.ts';
import { failureKind } from '../db/sqliteErrors.ts';

/** A rejected request, as it is kept. */
export interface RefusedRequest {
  /** The request_id of the answer. */
  readonly id: string;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly at_ms: number;
  readonly client: string;
  readonly status: number;
  readonly code: string;
  /** Of its first invalid event, or else of its first event; null if they could not be read. */
  readonly source: string | null;
  readonly court_id: string | null;
  /** How many events it held; null if that could not be read. */
  readonly events: number | null;
  /** The error of the answer. */
  readonly error: string;
}

/** One whose body is kept. */
export interface RefusedBody extends RefusedRequest {
  /** Its place in the order of receipt. */
  readonly seq: number;
  /** Undefined: it is damaged on the disk. */
  readonly body: Buffer | undefined;
}

/** The events of a sender whose bodies are kept. */
export interface WaitingEvents {
  /** The source; if it could not be read, the client's address. */
  readonly sender: string;
  readonly events: number;
}

/** Those rejected before a time (milliseconds since 1970-01-01T00:00:00Z; null: all), or these. */
export type RefusedSelection = { readonly beforeMs: number | null } | { readonly ids: readonly string[] };

/** In SQL, who sent a request: its source; if that could not be read, the client's address. */
export const SENDER = 'ifnull(source, client)';
/** In SQL, the bytes of a body, with some for its row. */
export const BYTES = 'length(gzip) + 512';
const COLUMNS = 'seq, id, at_ms, client, status, code, source, court_id, events, error';
/**
 * Of `refused.db`: a file of its own, so that neither the database nor a backup grows. Only the daemon writes it
 * (refusedRequests.ts). Commits are not synced: they survive the process, and a power cut leaves an older state that is whole.
 */
export const LAYOUT = `
  BEGIN;
  CREATE TABLE IF NOT EXISTS rejection (
    seq      INTEGER PRIMARY KEY,  -- in the order of receipt
    id       TEXT    NOT NULL,
    at_ms    INTEGER NOT NULL,
    client   TEXT    NOT NULL,
    status   INTEGER NOT NULL,
    code     TEXT    NOT NULL,
    source   TEXT,
    court_id TEXT,
    events   INTEGER,
    error    TEXT    NOT NULL,
    sha256   BLOB,                 -- of the body; NULL: none was read that could be corrected
    gzip     BLOB                  -- NULL: not kept, or kept with another request
  ) STRICT;
  CREATE INDEX IF NOT EXISTS rejection_id ON rejection (id);
  CREATE INDEX IF NOT EXISTS rejection_at ON rejection (at_ms);
  CREATE INDEX IF NOT EXISTS rejection_code ON rejection (code, seq) WHERE gzip IS NULL;
  CREATE UNIQUE INDEX IF NOT EXISTS rejection_body ON rejection (sha256) WHERE gzip IS NOT NULL;
  CREATE INDEX IF NOT EXISTS rejection_sender ON rejection (${SENDER}, events, ${BYTES}) WHERE gzip IS NOT NULL;
  COMMIT;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA secure_delete = ON`;

/** @returns the newest requests, newest first. @param limit -1: all. */
export function newestRefused(db: Database.Database, limit: number): RefusedRequest[] {
  const newest = `SELECT ${COLUMNS} FROM rejection ORDER BY seq DESC LIMIT ?`;
  return db.prepare<[number], RefusedRequest>(newest).all(limit);
}

/** @returns the senders with the most events first. */
export function waitingEvents(db: Database.Database): WaitingEvents[] {
  const waiting = db.prepare<[], WaitingEvents>(`
    SELECT ${SENDER} AS sender, sum(ifnull(events, 1)) AS events
      FROM rejection WHERE gzip IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 100`);
  return waiting.all();
}

/** @returns the body of a request, also if it is kept with another request; null: it is not kept; undefined: it is damaged. */
export function bodyOf(db: Database.Database, { id }: RefusedRequest): Buffer | null | undefined {
  const find = db.prepare<[string], Buffer>(`
    SELECT gzip FROM rejection WHERE gzip IS NOT NULL AND sha256 = (SELECT sha256 FROM rejection WHERE id = ?)`);
  const gzip = find.pluck().get(id);
  return gzip === undefined ? null : unpacked(gzip);
}

/** @yields the requests whose body is kept, one read at a time, the oldest first. @param sender only of this one. */
export function* keptBodies(db: Database.Database, sender: string | null = null): Generator<RefusedBody> {
  const next = db.prepare<[object], RefusedBody & { gzip: Buffer }>(`
    SELECT ${COLUMNS}, gzip FROM rejection
     WHERE seq > @seq AND gzip IS NOT NULL AND (@sender IS NULL OR ${SENDER} = @sender) ORDER BY seq LIMIT 1`);
  for (let row = next.get({ seq: 0, sender }); row !== undefined; row = next.get({ seq: row.seq, sender }))
    yield { ...row, body: unpacked(row.gzip) };
}

/** @returns how many requests a selection has. */
export function countRefused(db: Database.Database, selection: RefusedSelection): number {
  const [where, value] = conditionOf(selection);
  const count = db.prepare<[object], number>(`SELECT count(*) FROM rejection WHERE ${where}`);
  return count.pluck().get({ value })!;
}

/** @returns a condition in SQL, and its @value. A time before courtd existed is of a clock that nobody had set, and is no age. */
export function conditionOf(selection: RefusedSelection): [where: string, value: string | number | null] {
  if ('ids' in selection)
    return ['id IN (SELECT value FROM json_each(@value))', JSON.stringify(selection.ids)];
  return [`@value IS NULL OR (at_ms >= ${EARLIEST_RECEIVED_MS} AND at_ms < @value)`, selection.beforeMs];
}

/** @returns whether a request names somebody, or its body cannot be read. */
export function isNamed(db: Database.Database, request: RefusedRequest, names: Naming): boolean {
  const { error, source, court_id } = request;
  const body = bodyOf(db, request);
  return body === undefined || names(`${error} ${source} ${court_id} ${body ?? ''}`);
}

/**
 * Runs `work` on the rejected requests of a data directory, for a command that reads.
 * @returns undefined if no request was ever rejected. @throws {OperatorError} if the file cannot be used.
 */
export async function withRefused<Result>(
  directory: DataDirectory,
  work: (db: Database.Database) => Result | Promise<Result>,
): Promise<Result | undefined> {
  const path = directory.file('refused');
  // An empty one is just being made.
  if ((fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined;
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { readonly: true });
    return await work(db);
  } catch (error) {
    if (failureKind(error) !== 'damaged') throw explain(error, directory);
    throw new OperatorError(
      `${path} is damaged. Start the daemon ("sudo systemctl restart courtd"): it sets the file aside and begins a new one.`,
    );
  } finally {
    db?.close();
  }
}

/** @returns a kept body; undefined if it is damaged. */
function unpacked(gzip: Buffer): Buffer | undefined {
  try {
    return zlib.gunzipSync(gzip);
  } catch {
    return undefined;
  }
}
