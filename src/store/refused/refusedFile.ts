import Database from 'better-sqlite3';
import { EARLIEST_RECEIVED_MS, REFUSED_KEPT } from '../../base/limits.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { damage } from '../sqlite/errors.ts';

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

/** One whose body is kept: decompressed, or as it came if that is what was wrong with it. */
export interface RefusedBody extends RefusedRequest {
  readonly seq: number;
  readonly gzip: Buffer;
}

/** The events of a sender whose bodies are kept. */
export interface WaitingEvents {
  /** The source; if it could not be read, the client's address. */
  readonly sender: string;
  readonly events: number;
  /** When the first of them was rejected: milliseconds since 1970-01-01T00:00:00Z. */
  readonly sinceMs: number;
}

/** One to be kept. */
export interface NewRequest extends RefusedRequest {
  readonly sha256: Buffer | null;
  readonly gzip: Buffer | null;
}

/** Those rejected before a time (milliseconds since 1970-01-01T00:00:00Z; null: all), or these. */
export type RefusedSelection = { readonly beforeMs: number | null } | { readonly ids: readonly string[] };

interface Weighed {
  readonly sender: string;
  readonly events: number;
  readonly bytes: number;
  readonly code: string;
}

const COLUMNS = 'id, at_ms AS atMs, client, status, code, source, court_id AS courtId, events, error';
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
  CREATE INDEX rejection_sender ON rejection (${SENDER}, seq) WHERE gzip IS NOT NULL;
`;
/** "crtj" in ASCII. */
const APPLICATION_ID = 0x6372746a;
/** Bytes of a row without its body. */
const ROW_BYTES = 512;

/**
 * `refused.db`: the rejected requests, in a file of its own, so that neither the database nor a backup grows by them. Only the daemon
 * writes it. Commits are not synced: they survive the process, and a power cut leaves an older state that is whole.
 */
export class RefusedFile {
  /** Events whose bodies were deleted to make room since this was last set to 0. */
  evicted = 0;
  readonly #db: Database.Database;
  readonly #statements = new Map<string, Database.Statement<unknown[]>>();
  readonly #bytesOf: Map<string, number>;
  #bytes: number;
  /** Kinds of errors of which there may be too many without a body. */
  readonly #untrimmed = new Set<string>();

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
      const sizes = this.#db.prepare<[], [string, number]>(
        `SELECT ${SENDER}, sum(length(gzip) + ${ROW_BYTES}) FROM rejection WHERE gzip IS NOT NULL GROUP BY 1`,
      );
      this.#bytesOf = new Map(sizes.raw().all());
      this.#bytes = this.#bytesOf.values().reduce((sum, bytes) => sum + bytes, 0);
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

  /** Whether a body with this SHA-256 is kept. */
  has(sha256: Buffer): boolean {
    return (
      this.#sql('SELECT 1 FROM rejection WHERE sha256 = ? AND gzip IS NOT NULL').get(sha256) !== undefined
    );
  }

  /**
   * Adds requests in one transaction, and deletes the oldest ones beyond the limits.
   * @param maxBytes of all bodies.
   */
  add(requests: readonly NewRequest[], maxBytes: number): void {
    const insert = this.#sql(`INSERT INTO rejection VALUES
      (NULL, @id, @atMs, @client, @status, @code, @source, @courtId, @events, @error, @sha256, @gzip)`);
    this.#atOnce(() => {
      for (const request of requests) {
        insert.run(request);
        const { source, client, code, gzip } = request;
        if (gzip !== null) this.#weigh(source ?? client, gzip.length + ROW_BYTES);
        this.#untrimmed.add(code);
      }
      this.#shrink(maxBytes);
    });
  }

  /** Deletes bodies until they take at most so many bytes. */
  shrink(maxBytes: number): void {
    if (this.#bytes > maxBytes) this.#atOnce(() => this.#shrink(maxBytes));
  }

  #shrink(maxBytes: number): void {
    while (this.#bytes > maxBytes) {
      const [most, bytes] = [...this.#bytesOf].reduce((a, b) => (b[1] > a[1] ? b : a), ['', 0]);
      const of = bytes > maxBytes / 4 ? `${SENDER} = @most` : 'true';
      const oldest = this.#sql(`SELECT min(seq) AS seq FROM rejection WHERE gzip IS NOT NULL AND ${of}`);
      this.evicted += this.#forget((oldest.get({ most }) as { seq: number }).seq);
    }
  }

  /** Deletes the body of a request. */
  forgetBody(seq: number): void {
    this.#atOnce(() => this.#forget(seq));
  }

  /** @returns how many events its body held. */
  #forget(seq: number): number {
    const body = this.#sql(`
      SELECT ${SENDER} AS sender, ifnull(events, 1) AS events, length(gzip) AS bytes, code
        FROM rejection WHERE seq = ? AND gzip IS NOT NULL`).get(seq) as Weighed | undefined;
    if (body === undefined) return 0;
    this.#sql('UPDATE rejection SET gzip = NULL WHERE seq = ?').run(seq);
    this.#weigh(body.sender, -body.bytes - ROW_BYTES);
    this.#untrimmed.add(body.code);
    return body.events;
  }

  /** @returns the seqs of requests. A time before courtd existed is of a clock that nobody had set, and is no age. */
  seqs(selection: RefusedSelection): number[] {
    const [where, value] =
      'ids' in selection
        ? ['id IN (SELECT value FROM json_each(@value))', JSON.stringify(selection.ids)]
        : [`@value IS NULL OR (at_ms >= ${EARLIEST_RECEIVED_MS} AND at_ms < @value)`, selection.beforeMs];
    return this.#sql(`SELECT seq FROM rejection WHERE ${where}`).pluck().all({ value }) as number[];
  }

  /** Deletes requests, and overwrites what they held. */
  delete(seqs: readonly number[]): void {
    const remove = this.#sql('DELETE FROM rejection WHERE seq = ?');
    this.#atOnce(() => {
      for (const seq of seqs) {
        this.#forget(seq);
        remove.run(seq);
      }
    });
  }

  /** Gives the space of what was deleted back to the file system. */
  giveBack(): void {
    // Not `get` or `simple`: the pragma returns a row for each page.
    this.#db.pragma('incremental_vacuum');
    this.#db.pragma('wal_checkpoint(TRUNCATE)');
  }

  /** Bytes of all bodies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @returns the senders with the most events first. */
  waiting(limit: number): WaitingEvents[] {
    return this.#db
      .prepare<[number], WaitingEvents>(`
        SELECT ${SENDER} AS sender, sum(ifnull(events, 1)) AS events, min(at_ms) AS sinceMs
          FROM rejection WHERE gzip IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?`)
      .all(limit);
  }

  /** @returns the newest, newest first. */
  newest(limit: number): RefusedRequest[] {
    return this.#db
      .prepare<[number], RefusedRequest>(`SELECT ${COLUMNS} FROM rejection ORDER BY seq DESC LIMIT ?`)
      .all(limit);
  }

  /** @returns those since a time, the oldest first; of many the newest. */
  since(sinceMs: number, limit: number): RefusedRequest[] {
    return this.newest(limit)
      .filter(({ atMs }) => atMs >= sinceMs)
      .reverse();
  }

  /** @returns a request, with its body if that is kept, also if it is kept with another request. */
  find(id: string): (RefusedRequest & { readonly gzip: Buffer | null }) | undefined {
    return this.#db
      .prepare<[string], RefusedRequest & { gzip: Buffer | null }>(`
        SELECT ${COLUMNS}, ifnull(gzip, (SELECT b.gzip FROM rejection b WHERE b.sha256 = r.sha256 AND b.gzip IS NOT NULL)) AS gzip
          FROM rejection r WHERE id = ?`)
      .get(id);
  }

  /** @yields those with a body, one read at a time. @param order 1: the oldest first; -1: the newest. */
  *bodies(order: 1 | -1 = 1, sender: string | null = null): Generator<RefusedBody> {
    const [after, by] = order === 1 ? ['>', 'ASC'] : ['<', 'DESC'];
    const next = this.#db.prepare<[number, string | null, string | null], RefusedBody>(`
      SELECT seq, ${COLUMNS}, gzip FROM rejection
       WHERE seq ${after} ? AND gzip IS NOT NULL AND (? IS NULL OR ${SENDER} = ?) ORDER BY seq ${by} LIMIT 1`);
    let at = order === 1 ? 0 : Number.MAX_SAFE_INTEGER;
    for (let body = next.get(at, sender, sender); body !== undefined; body = next.get(at, sender, sender)) {
      yield body;
      at = body.seq;
    }
  }

  /** @yields all, one read at a time: what might hold something that must be deleted. */
  *texts(): Generator<{ readonly seq: number; readonly text: string; readonly gzip: Buffer | null }> {
    const next = this.#db.prepare<[number], { seq: number; text: string; gzip: Buffer | null }>(`
      SELECT seq, concat_ws(' ', error, source, court_id) AS text, gzip FROM rejection WHERE seq > ? ORDER BY seq LIMIT 1`);
    for (let row = next.get(0); row !== undefined; row = next.get(row.seq)) yield row;
  }

  #atOnce(work: () => void): void {
    const trim = this.#sql(`
      DELETE FROM rejection WHERE seq IN (SELECT seq FROM rejection
       WHERE code = ? AND gzip IS NULL ORDER BY seq DESC LIMIT -1 OFFSET ${REFUSED_KEPT})`);
    this.#db
      .transaction(() => {
        work();
        for (const code of this.#untrimmed) trim.run(code);
        this.#untrimmed.clear();
      })
      .immediate();
  }

  #sql(sql: string): Database.Statement<unknown[]> {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const made = this.#db.prepare(sql);
    this.#statements.set(sql, made);
    return made;
  }

  #weigh(sender: string, bytes: number): void {
    this.#bytes += bytes;
    const sum = (this.#bytesOf.get(sender) ?? 0) + bytes;
    if (sum > 0) this.#bytesOf.set(sender, sum);
    else this.#bytesOf.delete(sender);
  }
}
