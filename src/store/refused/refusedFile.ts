import fs from 'node:fs';
import Database from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS, REFUSED_KEPT } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { explain } from '../db/openErrors.ts';
import { damage, failureKind } from '../db/sqliteErrors.ts';

/** A rejected request, as it is kept. */
export interface RefusedRequest {
  /** The request_id of the answer. */
  readonly id: string;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly atMs: number;
  readonly client: string;
  readonly status: number;
  readonly code: string;
  /** Of its first invalid event, or else of its first event; null if they could not be read. */
  readonly source: string | null;
  readonly courtId: string | null;
  /** How many events it held; null if that could not be read. */
  readonly events: number | null;
  /** The error of the answer. */
  readonly error: string;
}

/** A row of the file. */
interface KeptRequest extends RefusedRequest {
  readonly seq: number;
  /** The body: decompressed, or as it came if that is what was wrong with it. Null: it is not kept here. */
  readonly gzip: Buffer | null;
}

/** One whose body is kept. */
export type RefusedBody = KeptRequest & { readonly gzip: Buffer };

/** The events of a sender whose bodies are kept. */
export interface WaitingEvents {
  /** The source; if it could not be read, the client's address. */
  readonly sender: string;
  readonly events: number;
}

/** One to be kept. */
export interface NewRequest extends RefusedRequest {
  readonly sha256: Buffer | null;
  readonly gzip: Buffer | null;
}

/** Those rejected before a time (milliseconds since 1970-01-01T00:00:00Z; null: all), or these. */
export type RefusedSelection = { readonly beforeMs: number | null } | { readonly ids: readonly string[] };

const COLUMNS = 'seq, id, at_ms AS atMs, client, status, code, source, court_id AS courtId, events, error';
const SENDER = 'ifnull(source, client)';
const LAYOUT = `
  CREATE TABLE rejection (
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
  CREATE INDEX rejection_id ON rejection (id);
  CREATE INDEX rejection_at ON rejection (at_ms);
  CREATE INDEX rejection_code ON rejection (code, seq) WHERE gzip IS NULL;
  CREATE UNIQUE INDEX rejection_body ON rejection (sha256) WHERE gzip IS NOT NULL;
  CREATE INDEX rejection_waiting ON rejection (${SENDER}, events, at_ms) WHERE gzip IS NOT NULL;
`;
/** "crtj" in ASCII. */
const APPLICATION_ID = 0x6372746a;
/** Bytes of a row without its body. */
const ROW_BYTES = 512;
const BODIES = `SELECT seq, ${SENDER} AS sender, length(gzip) + ${ROW_BYTES} AS bytes FROM rejection WHERE gzip IS NOT NULL`;
/** The bodies beyond a size: the oldest first, and of a sender with more than a quarter of the space its own before those of others. */
const TOO_MUCH = `
  SELECT seq FROM (
    SELECT seq, sum(bytes) OVER (ORDER BY own > @maxBytes / 4, seq DESC) AS kept FROM (
      SELECT seq, bytes, sum(bytes) OVER (PARTITION BY sender ORDER BY seq DESC) AS own FROM (${BODIES})))
   WHERE kept > @maxBytes`;
/** How much more is deleted than necessary, as a part of the size: each search reads all bodies' rows. */
const SLACK = 1 / 16;

/**
 * `refused.db`: the rejected requests, in a file of its own, so that neither the database nor a backup grows by them. Only the daemon
 * writes it. Commits are not synced: they survive the process, and a power cut leaves an older state that is whole.
 */
export class RefusedFile {
  readonly #db: Database.Database;

  /**
   * @param access 'write' makes the file if there is none.
   * @throws {SqliteError} also if it is damaged. Node's error, if it cannot be made.
   */
  constructor(file: string, access: 'read' | 'write') {
    if (access === 'write') createPrivateIfMissing(file);
    this.#db = new Database(file, { readonly: access === 'read', fileMustExist: true });
    try {
      if (access === 'write') this.#make();
      if (this.#db.pragma('application_id', { simple: true }) !== APPLICATION_ID) throw damage('refused.db');
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    this.#db.close();
  }

  #make(): void {
    if (this.#db.pragma('application_id', { simple: true }) === 0) {
      this.#db.pragma('auto_vacuum = INCREMENTAL');
      this.#db.pragma('journal_mode = WAL');
      this.#db.exec(`BEGIN; ${LAYOUT} PRAGMA application_id = ${APPLICATION_ID}; COMMIT`);
    }
    this.#db.pragma('synchronous = NORMAL');
    this.#db.pragma('journal_size_limit = 0');
    this.#db.pragma('secure_delete = ON');
  }

  /** Adds requests in one transaction, without the bodies that are there already, and the oldest without a body go. */
  add(requests: readonly NewRequest[]): void {
    const insert = this.#db.prepare(`INSERT INTO rejection VALUES
      (NULL, @id, @atMs, @client, @status, @code, @source, @courtId, @events, @error, @sha256,
       iif(EXISTS (SELECT 1 FROM rejection WHERE sha256 = @sha256 AND gzip IS NOT NULL), NULL, @gzip))`);
    const trim = this.#db.prepare(`
      DELETE FROM rejection WHERE seq IN (SELECT seq FROM (
        SELECT seq, row_number() OVER (PARTITION BY code ORDER BY seq DESC) AS age FROM rejection WHERE gzip IS NULL)
       WHERE age > ${REFUSED_KEPT})`);
    this.#db
      .transaction(() => {
        for (const request of requests) insert.run(request);
        trim.run();
      })
      .immediate();
  }

  /** Deletes bodies until the file needs at most so many bytes. @returns whether there were any to delete. */
  shrink(maxBytes: number): boolean {
    const { bytes } = this;
    if (bytes <= maxBytes) return false;
    const held = this.#db.prepare<[], number>(`SELECT total(bytes) FROM (${BODIES})`).pluck().get()!;
    const forget = this.#db.prepare(`UPDATE rejection SET gzip = NULL WHERE seq IN (${TOO_MUCH})`);
    // Whole pages are more than what is in them.
    return forget.run({ maxBytes: held * (maxBytes / bytes) * (1 - SLACK) }).changes > 0;
  }

  /** Deletes the body of a request. */
  forgetBody(seq: number): void {
    this.#db.prepare('UPDATE rejection SET gzip = NULL WHERE seq = ?').run(seq);
  }

  /** @returns the seqs of requests. A time before courtd existed is of a clock that nobody had set, and is no age. */
  seqs(selection: RefusedSelection): number[] {
    const [where, value] =
      'ids' in selection
        ? ['id IN (SELECT value FROM json_each(@value))', JSON.stringify(selection.ids)]
        : [`@value IS NULL OR (at_ms >= ${EARLIEST_RECEIVED_MS} AND at_ms < @value)`, selection.beforeMs];
    return this.#db
      .prepare<[object], number>(`SELECT seq FROM rejection WHERE ${where}`)
      .pluck()
      .all({ value });
  }

  /** Deletes requests, and overwrites what they held. */
  delete(seqs: readonly number[]): void {
    const remove = 'DELETE FROM rejection WHERE seq IN (SELECT value FROM json_each(?))';
    this.#db.prepare(remove).run(JSON.stringify(seqs));
  }

  /** Returns the space of deleted rows to the file system. */
  giveBack(): void {
    // Not `get` or `simple`: the pragma returns a row for each page.
    this.#db.pragma('incremental_vacuum');
    this.#db.pragma('wal_checkpoint(TRUNCATE)');
  }

  /** Bytes of the file that are in use. */
  get bytes(): number {
    const [pages, free, size] = ['page_count', 'freelist_count', 'page_size'].map(
      (name) => this.#db.pragma(name, { simple: true }) as number,
    );
    return (pages! - free!) * size!;
  }

  /** @returns the senders with the most events first. */
  waiting(limit: number): WaitingEvents[] {
    return this.#db
      .prepare<[number], WaitingEvents>(`
        SELECT ${SENDER} AS sender, sum(ifnull(events, 1)) AS events
          FROM rejection WHERE gzip IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?`)
      .all(limit);
  }

  /** @returns the newest, newest first. */
  newest(limit: number): RefusedRequest[] {
    return this.#db
      .prepare<[number], RefusedRequest>(`SELECT ${COLUMNS} FROM rejection ORDER BY seq DESC LIMIT ?`)
      .all(limit);
  }

  /** @returns a request, with its body if that is kept, also if it is kept with another request. */
  find(id: string): KeptRequest | undefined {
    return this.#db
      .prepare<[string], KeptRequest>(`
        SELECT ${COLUMNS}, ifnull(gzip, (SELECT b.gzip FROM rejection b WHERE b.sha256 = r.sha256 AND b.gzip IS NOT NULL)) AS gzip
          FROM rejection r WHERE id = ?`)
      .get(id);
  }

  /** @yields all, one read at a time, the oldest first. @param sender only of this one. */
  *all(sender: string | null = null): Generator<KeptRequest> {
    const next = this.#db.prepare<[object], KeptRequest>(`
      SELECT ${COLUMNS}, gzip FROM rejection
       WHERE seq > @seq AND (@sender IS NULL OR ${SENDER} = @sender) ORDER BY seq LIMIT 1`);
    for (let row = next.get({ seq: 0, sender }); row !== undefined; row = next.get({ seq: row.seq, sender }))
      yield row;
  }

  /** @yields those whose body is kept, as `all`. */
  *bodies(sender?: string | null): Generator<RefusedBody> {
    for (const { gzip, ...request } of this.all(sender)) if (gzip !== null) yield { ...request, gzip };
  }
}

/**
 * Runs `work` on the rejected requests of a data directory, for a command that reads.
 * @returns undefined if no request was ever rejected. @throws {OperatorError} if the file cannot be used.
 */
export async function withRefused<Result>(
  directory: DataDirectory,
  work: (file: RefusedFile) => Result | Promise<Result>,
): Promise<Result | undefined> {
  const path = directory.file('refused');
  // An empty one is just being made.
  if ((fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined;
  let file: RefusedFile | undefined;
  try {
    file = new RefusedFile(path, 'read');
    return await work(file);
  } catch (error) {
    if (failureKind(error) !== 'damaged') throw explain(error, directory);
    throw new OperatorError(
      `${path} is damaged. Start the daemon ("sudo systemctl restart courtd"): it sets the file aside and begins a new one.`,
    );
  } finally {
    file?.close();
  }
}
