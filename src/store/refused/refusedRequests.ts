import { hash } from 'node:crypto';
import fs from 'node:fs';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { unusedName } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import {
  REFUSED_CHECK_MS,
  REFUSED_FREE_PART,
  REFUSED_MS,
  REFUSED_QUEUE,
  REFUSED_WRITE_MS,
} from '../../base/limits.ts';
import { DAY_MS } from '../../base/units.ts';
import { bodyParts } from '../../protocol/bodyParts.ts';
import type { Naming } from '../../protocol/playerRedaction.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { type EventKey, keyOf } from '../read/storedKeys.ts';
import {
  type NewRequest,
  RefusedFile,
  type RefusedRequest,
  type RefusedSelection,
  type WaitingEvents,
} from './refusedFile.ts';

const [gzip, gunzip] = [promisify(zlib.gzip), promisify(zlib.gunzip)];

export interface RefusedSettings {
  /** Bytes of all bodies that are kept; 0 keeps none. */
  readonly maxBytes: number;
  /** Free space that the operator wants, in bytes. */
  readonly minFree: number;
}

/** A rejected request, with its body if the content was at fault. */
export interface Rejected extends RefusedRequest {
  /** Without the token, and a copy: it is freed. */
  readonly body: Buffer | undefined;
}

/** What was lost. */
export interface Lost {
  /** Bodies that were not kept. */
  readonly bodies: number;
  /** Events that were kept, and were deleted before they were stored. */
  readonly events: number;
  /** The new name of a damaged file. */
  readonly setAside?: string;
  /** Why nothing is kept at the moment. */
  readonly failure?: string;
}

const NOTHING: Lost = { bodies: 0, events: 0 };
/** Memory of a request in the queue beyond its body. */
const OVERHEAD_BYTES = 500;
/** Milliseconds between two reports of what was lost. */
const REPORT_MS = 60_000;
/** Senders whose events are reported as waiting, and requests that are read back at a start. */
const [SENDERS, READ_BACK] = [100, 10_000];
/** Rows that are deleted in one turn of the event loop. */
const STEP_ROWS = 100;
/** Looking whether events are stored takes this part of the time. */
const LOOK_PART = 1 / 20;
const FAILURES: Partial<Record<ReturnType<typeof failureKind>, string>> = {
  full: 'the disk is full',
  damaged: 'refused.db was damaged, and was set aside',
  busy: 'another program has locked refused.db',
};

/** Keeps rejected requests in `refused.db`, apart from the database: they are queued within bounds, and written once a second. */
export class RefusedRequests {
  readonly #directory: DataDirectory;
  readonly #settings: RefusedSettings;
  readonly #onLost: (lost: Lost) => void;
  #isStored: (key: EventKey | undefined) => boolean = () => false;
  #file: RefusedFile | undefined;
  #queue: Rejected[] = [];
  #queuedBytes = 0;
  #lost = NOTHING;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  /** The last task of the queue. */
  #work: Promise<unknown> = Promise.resolve();
  #looking: Promise<void> | undefined;
  readonly #closing = new AbortController();

  /** @param onLost is called at most once a minute. */
  constructor(directory: DataDirectory, settings: RefusedSettings, onLost: (lost: Lost) => void) {
    this.#directory = directory;
    this.#settings = settings;
    this.#onLost = onLost;
  }

  /**
   * Opens the file. Call it when the data directory is locked.
   * @param isStored whether an event is in the database.
   * @returns what was rejected within a day, the oldest first.
   */
  begin(isStored: (key: EventKey | undefined) => boolean): RefusedRequest[] {
    this.#isStored = isStored;
    this.#checkTimer = setInterval(() => this.look(), REFUSED_CHECK_MS).unref();
    this.look();
    return this.recent();
  }

  /** @returns what was rejected within a day, the oldest first. */
  recent(): RefusedRequest[] {
    if (this.#isMissing) return [];
    const newest = this.#attempt((file) => file.newest(READ_BACK)) ?? [];
    return newest.filter(({ atMs }) => atMs >= Date.now() - DAY_MS).reverse();
  }

  get #isMissing(): boolean {
    return this.#file === undefined && !fs.existsSync(this.#directory.file('refused'));
  }

  /** Queues a request. In a flood without bodies only the first of each second are kept. */
  keep(request: Rejected): void {
    const bytes = (request.body?.length ?? 0) + OVERHEAD_BYTES;
    const hasRoom = this.#queue.length === 0 || this.#queuedBytes + bytes <= REFUSED_QUEUE.bytes;
    const isKept = request.body !== undefined && hasRoom && this.#settings.maxBytes > 0;
    if (isKept) this.#queuedBytes += bytes;
    else if (request.body !== undefined && !hasRoom) this.#lose({ bodies: 1 });
    if (!isKept && this.#queue.length >= REFUSED_QUEUE.withoutBody) return;
    this.#queue.push(isKept ? request : { ...request, body: undefined });
    this.#timer ??= setTimeout(() => void this.flush(), REFUSED_WRITE_MS);
  }

  /** @returns once all that came so far is in the file. */
  flush(): Promise<void> {
    return this.#next(() => this.#write());
  }

  /** Rejected events that are kept, and are not stored yet. */
  get waiting(): readonly WaitingEvents[] {
    if (this.#file === undefined) return [];
    return this.#attempt((file) => file.waiting(SENDERS)) ?? [];
  }

  /** The disk is full: to delete rows would need room, so the whole file goes. */
  diskFull(): void {
    void this.#next(async () => this.#discard());
  }

  /** @returns how many were deleted. */
  delete(selection: RefusedSelection): Promise<number> {
    return this.#next(async () => {
      await this.#write();
      if (this.#isMissing) return 0;
      return await this.#delete(this.#attempt((file) => file.seqs(selection)) ?? []);
    });
  }

  /** Deletes the requests that name a player or cannot be read. @returns how many. */
  erase(names: Naming): Promise<number> {
    return this.#next(async () => {
      await this.#write();
      const named = this.#isMissing
        ? []
        : await this.#attempt((file) => namedIn(file, names))?.catch((error) => this.#fail(error));
      const deleted = await this.#delete(named ?? []);
      // Nobody can say whom a damaged one names.
      for (const damaged of this.#directory.damagedRefused()) fs.rmSync(damaged, { force: true });
      return deleted;
    });
  }

  async #delete(seqs: readonly number[]): Promise<number> {
    for (let at = 0; at < seqs.length; at += STEP_ROWS) {
      this.#attempt((file) => file.delete(seqs.slice(at, at + STEP_ROWS)));
      await setImmediate();
    }
    if (seqs.length > 0) this.#attempt((file) => file.giveBack());
    return seqs.length;
  }

  /** Checks soon for old requests, for low disk space, and for bodies whose events are all stored meanwhile. */
  look(): void {
    void this.#next(async () => {
      if (this.#isMissing) return;
      await this.#delete(this.#attempt((file) => file.seqs({ beforeMs: Date.now() - REFUSED_MS })) ?? []);
      this.#makeRoom();
    });
    // The next write meets the fault of the file.
    this.#looking ??= this.#forgetStored()
      .catch(() => {})
      .finally(() => {
        this.#looking = undefined;
      });
  }

  /** A step takes one body, and long pauses follow: requests are answered in between. */
  async #forgetStored(): Promise<void> {
    if (this.#file === undefined) return;
    for (const { seq, gzip: packed } of this.#file.bodies()) {
      const body = await gunzip(packed).catch(() => undefined);
      const startedAt = performance.now();
      const keys = body && bodyParts(body).map(keyOf);
      const areStored = keys?.every((key) => this.#isStored(key)) ?? false;
      if (areStored) this.#attempt((file) => file.forgetBody(seq));
      await sleep((performance.now() - startedAt) / LOOK_PART, undefined, { signal: this.#closing.signal });
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#checkTimer);
    await this.flush();
    this.#closing.abort();
    this.#forget();
    this.#report(0);
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const queue = this.#queue;
    if (queue.length === 0) return;
    [this.#queue, this.#queuedBytes] = [[], 0];
    const isLow = this.#makeRoom();
    const requests: NewRequest[] = [];
    let bodies = 0;
    for (const { body, ...request } of queue) {
      const sha256 = body === undefined ? null : hash('sha256', body, 'buffer');
      const packed = body === undefined || isLow ? null : await gzip(body, { level: 1 });
      requests.push({ ...request, sha256, gzip: packed });
      if (body !== undefined) bodies++;
    }
    const isAdded = this.#attempt((file) => {
      file.add(requests);
      return true;
    });
    if (isLow && bodies > 0) this.#lose({ bodies, failure: 'the disk is nearly full' });
    else if (isAdded === undefined) this.#lose({ bodies });
    else this.#makeRoom();
  }

  /** Deletes bodies beyond the space for them. If the disk is low, they go before any event is refused. @returns whether it is. */
  #makeRoom(): boolean {
    const { maxBytes, minFree } = this.#settings;
    const { bavail, blocks, bsize } = fs.statfsSync(this.#directory.path);
    const missing = Math.max(0, Math.min(minFree, blocks * bsize * REFUSED_FREE_PART) - bavail * bsize);
    const events = this.#attempt((file) =>
      file.shrink(Math.min(maxBytes, Math.max(0, file.bytes - missing))),
    );
    if (events) this.#lose({ events });
    if (missing > 0) this.#attempt((file) => file.giveBack());
    return missing > 0;
  }

  /** Runs `work` on the file; a file that cannot be used is given up. @returns undefined if that failed. */
  #attempt<Result>(work: (file: RefusedFile) => Result): Result | undefined {
    try {
      this.#file ??= this.#open();
      return work(this.#file);
    } catch (error) {
      return this.#fail(error);
    }
  }

  #fail(error: unknown): undefined {
    const kind = failureKind(error);
    this.#lose({ failure: FAILURES[kind] ?? (error as Error).message });
    if (kind === 'full') this.#discard();
    else if (kind === 'damaged') this.#setAside();
    else this.#forget();
  }

  #open(): RefusedFile {
    const file = this.#directory.file('refused');
    // SQLite would take an empty file for a new one.
    if (fs.statSync(file, { throwIfNoEntry: false })?.size === 0) this.#setAside();
    return new RefusedFile(file, 'write');
  }

  #discard(): void {
    const events = this.waiting.reduce((sum, one) => sum + one.events, 0);
    if (events > 0) this.#lose({ events });
    this.#forget();
    for (const name of ['refusedWal', 'refusedShm', 'refused'] as const)
      fs.rmSync(this.#directory.file(name), { force: true });
  }

  /** So that a person can read the rest of it; only the newest, so that a bad disk does not fill with them. */
  #setAside(): void {
    this.#forget();
    for (const older of this.#directory.damagedRefused()) fs.rmSync(older, { force: true });
    const file = this.#directory.file('refused');
    const aside = unusedName((time) => `${file}.damaged-${time}`);
    if (fs.existsSync(`${file}-wal`)) fs.renameSync(`${file}-wal`, `${aside}-wal`);
    fs.rmSync(`${file}-shm`, { force: true });
    fs.renameSync(file, aside);
    this.#lose({ setAside: aside });
  }

  #forget(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #lose(more: Partial<Lost>): void {
    const bodies = this.#lost.bodies + (more.bodies ?? 0);
    const events = this.#lost.events + (more.events ?? 0);
    this.#lost = { ...this.#lost, ...more, bodies, events };
  }

  #report(everyMs: number): void {
    const { bodies, events, setAside } = this.#lost;
    if (bodies === 0 && events === 0 && setAside === undefined) return;
    if (performance.now() < this.#reportedAt + everyMs) return;
    this.#reportedAt = performance.now();
    this.#onLost(this.#lost);
    this.#lost = NOTHING;
  }

  #next<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#work.then(work);
    this.#work = done.catch((error) => this.#fail(error)).finally(() => this.#report(REPORT_MS));
    return done;
  }
}

/** @returns the seqs of the requests that name somebody, or whose body cannot be read. */
export async function namedIn(file: RefusedFile, names: Naming): Promise<number[]> {
  const seqs: number[] = [];
  for (const { seq, error, source, courtId, gzip: packed } of file.all()) {
    const body = packed === null ? '' : await gunzip(packed).catch(() => undefined);
    if (body === undefined || names(`${error} ${source} ${courtId} ${body}`)) seqs.push(seq);
    if (seq % STEP_ROWS === 0) await setImmediate();
  }
  return seqs;
}
