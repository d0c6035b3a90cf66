import { hash } from 'node:crypto';
import fs from 'node:fs';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import * as limits from '../../base/limits.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { bodyParts } from '../../protocol/bodyParts.ts';
import type { LogFields, ProblemCode } from '../../protocol/errors.ts';
import type { Naming } from '../../protocol/playerRedaction.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { type EventKey, keyOf } from '../read/storedKeys.ts';
import {
  conditionOf,
  HELD,
  INSERT,
  isNamed,
  LAYOUT,
  RefusedFile,
  type RefusedRequest,
  type RefusedSelection,
  TOO_MANY,
  TOO_MUCH,
  WAITING,
  type WaitingEvents,
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

/** Keeps rejected requests in `refused.db`, apart from the database: in one transaction a second. */
export class RefusedRequests {
  readonly #options: RefusedOptions;
  /** Undefined until it is used, and after it failed: the next use opens it. */
  #file: RefusedFile | undefined;
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
      try {
        await this.delete({ beforeMs: Date.now() - limits.REFUSED_MS });
        await this.#forgetStored(isStored);
      } catch {
        // The next request meets the same fault.
      }
    }
  }

  /** @returns the newest requests, newest first. */
  recent(): RefusedRequest[] {
    return this.#attempt((file) => file.newest(READ_BACK)) ?? [];
  }

  /** Rejected events that are kept, and are not stored yet. */
  get waiting(): readonly WaitingEvents[] {
    return this.#attempt(({ db }) => db.prepare<[], WaitingEvents>(WAITING).all()) ?? [];
  }

  /**
   * Keeps a request. In a flood without bodies only the first of each second are kept.
   * @param sent its body; undefined if the content was not at fault. @param token to be removed from it.
   */
  keep(refused: Refused, at_ms: number, sent: Buffer | undefined, token: string | undefined): void {
    const isLow = sent !== undefined && this.#attempt(() => this.#isDiskLow());
    if (isLow) this.#lose(NOT_KEPT, { reason: 'the disk is nearly full' });
    const isKept = !isLow && this.#options.maxBytes > 0;
    const body =
      sent && isKept ? Buffer.from(tokenRemoved(sent.toString('latin1'), token), 'latin1') : undefined;
    if (body === undefined && ++this.#withoutBody > limits.REFUSED_A_SECOND) return;
    this.#add([{ source: null, court_id: null, events: null, ...refused, at_ms }], body);
  }

  /** Deletes in steps, between which requests are answered. @returns how many were deleted. */
  async delete(selection: RefusedSelection): Promise<number> {
    const [where, value] = conditionOf(selection);
    const some = `DELETE FROM rejection WHERE seq IN (SELECT seq FROM rejection WHERE ${where} LIMIT ${STEP_ROWS})`;
    let deleted = 0;
    for (let step = 1; step > 0; deleted += step) {
      step = this.#attempt(({ db }) => db.prepare(some).run({ value }).changes) ?? 0;
      await setImmediate();
    }
    this.#commit();
    // The WAL still has what was deleted.
    if (deleted > 0) this.#attempt(({ db }) => db.pragma('wal_checkpoint(TRUNCATE)'));
    return deleted;
  }

  /** Deletes the requests that name a player or cannot be read. @returns how many. */
  async erase(names: Naming): Promise<number> {
    const ids: string[] = [];
    for (const request of this.#attempt((file) => file.newest(-1)) ?? []) {
      if (this.#attempt((file) => isNamed(file, request, names))) ids.push(request.id);
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
    for (const { seq, body } of this.#file?.bodies() ?? []) {
      if (this.#isDiskLow()) return;
      if (body !== undefined && bodyParts(body).map(keyOf).every(isStored))
        this.#attempt(({ db }) => db.prepare('UPDATE rejection SET gzip = NULL WHERE seq = ?').run(seq));
      await sleep((performance.now() - startedAt) / LOOK_PART, undefined, { ref: false });
      startedAt = performance.now();
    }
  }

  /** @param body of the one request. */
  #add(requests: readonly RefusedRequest[], body?: Buffer): void {
    const sha256 = body === undefined ? null : hash('sha256', body, 'buffer');
    const gzip = body === undefined ? null : zlib.gzipSync(body, { level: 1 });
    this.#attempt(({ db }) => {
      if (!db.inTransaction) db.exec('BEGIN IMMEDIATE');
      const insert = db.prepare(INSERT);
      for (const request of requests) insert.run({ ...request, sha256, gzip });
    });
    this.#timer ??= setTimeout(() => this.#commit(), limits.REFUSED_WRITE_MS);
  }

  #commit(): void {
    const { maxBytes } = this.#options;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#withoutBody = 0;
    this.#attempt(({ db }) => {
      db.exec(`DELETE FROM rejection WHERE seq IN (${TOO_MANY})`);
      if (db.prepare<[], number>(HELD).pluck().get()! > maxBytes) {
        const forget = db.prepare(`UPDATE rejection SET gzip = NULL WHERE seq IN (${TOO_MUCH})`);
        forget.run({ bytes: maxBytes });
        this.#lose(DELETED, { reason: 'there is no room for them' });
      }
      if (db.inTransaction) db.exec('COMMIT');
    });
  }

  /** If it is, the bodies go, and with them the file: to delete rows would need room. */
  #isDiskLow(): boolean {
    const { bavail, blocks, bsize } = fs.statfsSync(this.#options.directory.path);
    const leastBytes = Math.min(limits.MIN_FREE_BYTES, blocks * bsize * limits.REFUSED_FREE_PART);
    const isLow = bavail * bsize < leastBytes;
    if (isLow && this.waiting.length > 0) {
      const requests = this.recent();
      this.#lose(DELETED, { reason: 'the disk is nearly full' });
      this.#remove();
      this.#add(requests.reverse());
    }
    return isLow;
  }

  /** Runs `work` on the file, and gives up one that cannot be used. @returns undefined if that failed. */
  #attempt<Result>(work: (file: RefusedFile) => Result): Result | undefined {
    if (this.#isClosed) return undefined;
    const path = this.#options.directory.file('refused');
    try {
      if (this.#file === undefined) {
        createPrivateIfMissing(path);
        this.#file = new RefusedFile(path);
        this.#file.db.exec(`PRAGMA busy_timeout = 0; ${LAYOUT}`);
      }
      return work(this.#file);
    } catch (error) {
      if (failureKind(error) !== 'damaged') {
        this.#lose(NOT_KEPT, { reason: (error as Error).message });
        return this.#giveUp();
      }
      // So that a person can read the rest of it; only the newest, so that a bad disk does not fill with them.
      const file = this.#options.directory.file('refusedAside');
      fs.renameSync(path, file);
      this.#remove();
      this.#lose(SET_ASIDE, { file });
    }
  }

  #giveUp(): undefined {
    this.#file?.db.close();
    this.#file = undefined;
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
