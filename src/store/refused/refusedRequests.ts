import { hash } from 'node:crypto';
import fs from 'node:fs';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';
import Database from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import * as limits from '../../base/limits.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { bodyParts } from '../../protocol/bodyParts.ts';
import type { LogFields, ProblemCode } from '../../protocol/errors.ts';
import type { Naming } from '../../protocol/playerRedaction.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { type EventKey, keyOf } from '../read/storedKeys.ts';
import {
  BYTES,
  conditionOf,
  isNamed,
  keptBodies,
  LAYOUT,
  newestRefused,
  type RefusedRequest,
  type RefusedSelection,
  SENDER,
  type WaitingEvents,
  waitingEvents,
} from './refusedFile.ts';
import { tokenRemoved } from './tokenRemoved.ts';

export interface RefusedOptions {
  readonly directory: DataDirectory;
  /** Bytes of all bodies that are kept; 0 keeps none. */
  readonly maxBytes: number;
  /** Is called for each message at most once between two checks. */
  readonly warn: (details: object, message: string) => void;
}

/** A request that was just rejected, without its token. */
export type Refused = LogFields &
  Pick<RefusedRequest, 'id' | 'client' | 'status' | 'error'> & { readonly code: ProblemCode };

const NOT_KEPT = 'bodies of rejected requests were not kept';
const DELETED = 'rejected events were deleted before they were stored';
const SET_ASIDE =
  'refused.db was damaged and was set aside: a new one begins, and events are stored as before';
/** Requests that are read back at a start. */
const READ_BACK = 10_000;
/** Rows that are deleted in one turn of the event loop. */
const STEP_ROWS = 100;
/** Looking whether events are stored takes this part of the time. */
const LOOK_PART = 1 / 20;

/** Of each code, requests without a body beyond the newest. */
const DELETE_TOO_MANY = `
  DELETE FROM rejection WHERE seq IN (SELECT seq FROM (
    SELECT seq, row_number() OVER (PARTITION BY code ORDER BY seq DESC) AS age FROM rejection WHERE gzip IS NULL)
     WHERE age > ${limits.REFUSED_KEPT})`;
/**
 * The bodies beyond a size: the oldest first, and of a sender with more than a quarter of the space its own before those of others.
 * More than necessary, because each search reads an index of all.
 */
const FORGET_TOO_MUCH = `
  UPDATE rejection SET gzip = NULL WHERE seq IN (
    SELECT seq FROM (SELECT seq, sum(bytes) OVER (ORDER BY own > @bytes / 4, seq DESC) AS kept FROM (
      SELECT seq, ${BYTES} AS bytes, sum(${BYTES}) OVER (PARTITION BY ${SENDER} ORDER BY seq DESC) AS own
        FROM rejection
       WHERE gzip IS NOT NULL AND (SELECT total(${BYTES}) FROM rejection WHERE gzip IS NOT NULL) > @bytes))
     WHERE kept > @bytes * 15 / 16)`;

/** Keeps rejected requests in `refused.db`, apart from the database: in one transaction a second. */
export class RefusedRequests {
  readonly #options: RefusedOptions;
  /** Undefined until it is used, and after it failed: the next use opens it. */
  #db: Database.Database | undefined;
  /** Ends the transaction. */
  #timer: NodeJS.Timeout | undefined;
  /** Requests without a body in this transaction. */
  #withoutBody = 0;
  /** Messages that were logged since the last check. */
  readonly #logged = new Set<string>();
  #isClosed = false;

  constructor(options: RefusedOptions) {
    this.#options = options;
  }

  /**
   * Deletes repeatedly, until `close`: old requests, bodies without room on the disk, and bodies whose events are all stored. Call it
   * when the data directory is locked. @param isStored whether an event is in the database.
   */
  async begin(isStored: (key: EventKey | undefined) => boolean): Promise<void> {
    for (; !this.#isClosed; await sleep(limits.REFUSED_CHECK_MS, undefined, { ref: false })) {
      this.#logged.clear();
      const old = this.delete({ beforeMs: Date.now() - limits.REFUSED_MS });
      // The next request meets the same fault.
      await old.then(() => this.#forgetStored(isStored)).catch(() => {});
    }
  }

  /** @returns the newest requests, newest first. */
  recent(): RefusedRequest[] {
    return this.#attempt((db) => newestRefused(db, READ_BACK)) ?? [];
  }

  /** Rejected events that are kept, and are not stored yet. */
  get waiting(): readonly WaitingEvents[] {
    return this.#attempt(waitingEvents) ?? [];
  }

  /**
   * Keeps a request. In a flood without bodies only the first of each second are kept.
   * @param sent its body; undefined if the content was not at fault. @param token to be removed from it.
   */
  keep(refused: Refused, at_ms: number, sent: Buffer | undefined, token: string | undefined): void {
    const isLow = sent !== undefined && this.#attempt(() => this.#isDiskLow());
    if (isLow) this.#lose(NOT_KEPT, { reason: 'the disk is nearly full' });
    const isKept = !isLow && this.#options.maxBytes > 0;
    const body = sent && isKept ? Buffer.from(tokenRemoved(sent.toString('latin1'), token), 'latin1') : null;
    if (body === null && ++this.#withoutBody > limits.REFUSED_A_SECOND) return;
    const request = { source: null, court_id: null, events: null, ...refused, at_ms };
    this.#attempt((db) => this.#insert(db, request, body));
    this.#timer ??= setTimeout(() => this.#commit(), limits.REFUSED_WRITE_MS);
  }

  /** Deletes in steps, between which requests are answered. @returns how many were deleted. */
  async delete(selection: RefusedSelection): Promise<number> {
    const [where, value] = conditionOf(selection);
    const some = `DELETE FROM rejection WHERE seq IN (SELECT seq FROM rejection WHERE ${where} LIMIT ${STEP_ROWS})`;
    let deleted = 0;
    for (let step = 1; step > 0; deleted += step) {
      step = this.#attempt((db) => db.prepare(some).run({ value }).changes) ?? 0;
      await setImmediate();
    }
    this.#commit();
    // The WAL still has what was deleted.
    if (deleted > 0) this.#attempt((db) => db.pragma('wal_checkpoint(TRUNCATE)'));
    return deleted;
  }

  /** Deletes the requests that name a player or cannot be read. @returns how many. */
  async erase(names: Naming): Promise<number> {
    const ids: string[] = [];
    for (const request of this.#attempt((db) => newestRefused(db, -1)) ?? []) {
      if (this.#attempt((db) => isNamed(db, request, names))) ids.push(request.id);
      await setImmediate();
    }
    // Nobody can say whom a damaged one names.
    fs.rmSync(this.#options.directory.file('refusedAside'), { force: true });
    return await this.delete({ ids });
  }

  close(): void {
    this.#commit();
    this.#isClosed = true;
    this.#giveUp();
  }

  /** A step takes one body, and long pauses follow: requests are answered in between. */
  async #forgetStored(isStored: (key: EventKey | undefined) => boolean): Promise<void> {
    let startedAt = performance.now();
    for (const { seq, body } of this.#attempt((db) => keptBodies(db)) ?? []) {
      if (body !== undefined && bodyParts(body).map(keyOf).every(isStored))
        this.#attempt((db) => db.prepare('UPDATE rejection SET gzip = NULL WHERE seq = ?').run(seq));
      await sleep((performance.now() - startedAt) / LOOK_PART, undefined, { ref: false });
      startedAt = performance.now();
    }
  }

  #insert(db: Database.Database, request: RefusedRequest, body: Buffer | null): void {
    if (!db.inTransaction) db.exec('BEGIN IMMEDIATE');
    const insert = db.prepare(`
      INSERT INTO rejection
      VALUES (NULL, @id, @at_ms, @client, @status, @code, @source, @court_id, @events, @error, @sha256,
        iif(EXISTS (SELECT 1 FROM rejection WHERE sha256 = @sha256 AND gzip IS NOT NULL), NULL, @gzip))`);
    const gzip = body && zlib.gzipSync(body, { level: 1 });
    insert.run({ ...request, sha256: body && hash('sha256', body, 'buffer'), gzip });
  }

  /** Ends the transaction, and deletes what is too much by then. */
  #commit(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#withoutBody = 0;
    if (this.#attempt(() => this.#isDiskLow()) && this.waiting.length > 0) {
      const requests = this.recent();
      this.#lose(DELETED, { reason: 'the disk is nearly full' });
      // The bodies go with the file: to delete rows would need room.
      this.#remove();
      this.#attempt((db) => requests.reverse().forEach((one) => void this.#insert(db, one, null)));
    }
    this.#attempt((db) => {
      db.exec(DELETE_TOO_MANY);
      const { changes } = db.prepare(FORGET_TOO_MUCH).run({ bytes: this.#options.maxBytes });
      if (changes > 0) this.#lose(DELETED, { reason: 'there is no room for them' });
      if (db.inTransaction) db.exec('COMMIT');
    });
  }

  #isDiskLow(): boolean {
    const { bavail, blocks, bsize } = fs.statfsSync(this.#options.directory.path);
    return bavail * bsize < Math.min(limits.MIN_FREE_BYTES, blocks * bsize * limits.REFUSED_FREE_PART);
  }

  /** Runs `work` on the file, and gives up one that cannot be used. @returns undefined if that failed. */
  #attempt<Result>(work: (db: Database.Database) => Result): Result | undefined {
    if (this.#isClosed) return undefined;
    const path = this.#options.directory.file('refused');
    try {
      if (this.#db === undefined) {
        createPrivateIfMissing(path);
        this.#db = new Database(path, { timeout: 0 });
        this.#db.exec(LAYOUT);
      }
      return work(this.#db);
    } catch (error) {
      try {
        if (failureKind(error) !== 'damaged') throw error;
        // So that a person can read the rest of it; only the newest, so that a bad disk does not fill with them.
        const file = this.#options.directory.file('refusedAside');
        fs.renameSync(path, file);
        this.#remove();
        this.#lose(SET_ASIDE, { file });
      } catch (reason) {
        this.#lose(NOT_KEPT, { reason: (reason as Error).message });
        this.#giveUp();
      }
    }
  }

  #giveUp(): undefined {
    this.#db?.close();
    this.#db = undefined;
  }

  #remove(): void {
    this.#giveUp();
    for (const name of ['refused', 'refusedWal', 'refusedShm'] as const)
      fs.rmSync(this.#options.directory.file(name), { force: true });
  }

  #lose(message: string, details: object): void {
    if (!this.#logged.has(message)) this.#options.warn(details, message);
    this.#logged.add(message);
  }
}
