import { hash } from 'node:crypto';
import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';
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
import { pause } from '../../base/pause.ts';
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

/** A body was not kept, or was deleted before its events were stored; or a damaged file was set aside. */
export type Lost = 'notKept' | 'deleted' | 'setAside';

/** Memory of a request in the queue beyond its body. */
const OVERHEAD_BYTES = 500;
/** Milliseconds between two reports of the same loss. */
const REPORT_MS = 60_000;
/** Senders whose events are reported as waiting, and requests that are read back at a start. */
const [SENDERS, READ_BACK] = [100, 10_000];
/** Rows that are deleted in one turn of the event loop. */
const STEP_ROWS = 100;
/** Looking whether events are stored takes this part of the time. */
const LOOK_PART = 1 / 20;

/** Keeps rejected requests in `refused.db`, apart from the database: they are queued within bounds, and written once a second. */
export class RefusedRequests {
  readonly #directory: DataDirectory;
  readonly #settings: RefusedSettings;
  readonly #onLost: (what: Lost, details: object) => void;
  /** Undefined if there is none, or if it was given up: the next work opens it again. */
  #file: RefusedFile | undefined;
  #queue: Rejected[] = [];
  #queuedBytes = 0;
  readonly #reportedAt = new Map<Lost, number>();
  #timer: NodeJS.Timeout | undefined;
  /** The last of the tasks, which run one after another. */
  #work: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();

  /** @param onLost is called at most once a minute for each kind. */
  constructor(
    directory: DataDirectory,
    settings: RefusedSettings,
    onLost: (what: Lost, details: object) => void,
  ) {
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
    void this.#tidy(isStored);
    return this.recent();
  }

  /** @returns what was rejected within a day, the oldest first. */
  recent(): RefusedRequest[] {
    const newest = this.#attempt((file) => file.newest(READ_BACK)) ?? [];
    return newest.filter(({ atMs }) => atMs >= Date.now() - DAY_MS).reverse();
  }

  /** Rejected events that are kept, and are not stored yet. */
  get waiting(): readonly WaitingEvents[] {
    return this.#attempt((file) => file.waiting(SENDERS)) ?? [];
  }

  /** Queues a request. In a flood without bodies only the first of each second are kept. */
  keep(request: Rejected): void {
    const bytes = (request.body?.length ?? 0) + OVERHEAD_BYTES;
    const hasRoom = this.#queue.length === 0 || this.#queuedBytes + bytes <= REFUSED_QUEUE.bytes;
    const isKept = request.body !== undefined && hasRoom && this.#settings.maxBytes > 0;
    if (isKept) this.#queuedBytes += bytes;
    else if (request.body !== undefined && !hasRoom) this.#lose('notKept', 'they came too fast');
    if (!isKept && this.#queue.length >= REFUSED_QUEUE.withoutBody) return;
    this.#queue.push(isKept ? request : { ...request, body: undefined });
    this.#timer ??= setTimeout(() => void this.#next(() => this.#write()), REFUSED_WRITE_MS);
  }

  /** The disk is full: deleting rows would need room, so the whole file is deleted. */
  diskFull(): void {
    void this.#next(async () => this.#discard());
  }

  /** @returns how many were deleted. */
  delete(selection: RefusedSelection): Promise<number> {
    return this.#next(async () => {
      await this.#write();
      return await this.#delete(selection);
    });
  }

  /** Deletes the requests that name a player or cannot be read. @returns how many. */
  erase(names: Naming): Promise<number> {
    return this.#next(async () => {
      await this.#write();
      const ids = await this.#attempt((file) => namedIn(file, names))?.catch((error) => this.#fail(error));
      // Nobody can say whom a damaged one names.
      for (const damaged of this.#directory.damagedRefused()) fs.rmSync(damaged, { force: true });
      return await this.#delete({ ids: ids ?? [] });
    });
  }

  async close(): Promise<void> {
    await this.#next(() => this.#write());
    this.#closing.abort();
    this.#giveUp();
  }

  /** Deletes repeatedly: old requests, bodies without room on the disk, and bodies whose events are all stored. */
  async #tidy(isStored: (key: EventKey | undefined) => boolean): Promise<void> {
    const { signal } = this.#closing;
    for (; !signal.aborted; await pause(REFUSED_CHECK_MS, signal)) {
      try {
        await this.#next(async () => {
          await this.#delete({ beforeMs: Date.now() - REFUSED_MS });
          this.#makeRoom();
        });
        await this.#forgetStored(isStored, signal);
      } catch {
        // The next write meets the same fault.
      }
    }
  }

  /** A step takes one body, and long pauses follow: requests are answered in between. */
  async #forgetStored(isStored: (key: EventKey | undefined) => boolean, signal: AbortSignal): Promise<void> {
    for (const { seq, gzip: packed } of this.#file?.bodies() ?? []) {
      const body = await gunzip(packed).catch(() => undefined);
      const startedAt = performance.now();
      if (body !== undefined && bodyParts(body).map(keyOf).every(isStored))
        this.#attempt((file) => file.forgetBody(seq));
      await pause((performance.now() - startedAt) / LOOK_PART, signal);
      if (signal.aborted) return;
    }
  }

  async #delete(selection: RefusedSelection): Promise<number> {
    const seqs = this.#attempt((file) => file.seqs(selection)) ?? [];
    for (let at = 0; at < seqs.length; at += STEP_ROWS) {
      this.#attempt((file) => file.delete(seqs.slice(at, at + STEP_ROWS)));
      await setImmediate();
    }
    if (seqs.length > 0) this.#attempt((file) => file.giveBack());
    return seqs.length;
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const queue = this.#queue;
    if (queue.length === 0) return;
    [this.#queue, this.#queuedBytes] = [[], 0];
    const isLow = this.#makeRoom();
    const requests: NewRequest[] = [];
    for (const { body, ...request } of queue) {
      const sha256 = body === undefined ? null : hash('sha256', body, 'buffer');
      const packed = body === undefined || isLow ? null : await gzip(body, { level: 1 });
      requests.push({ ...request, sha256, gzip: packed });
    }
    const add = (file: RefusedFile) => file.add(requests);
    this.#attempt(add, { makes: true });
    if (isLow && queue.some(({ body }) => body !== undefined))
      this.#lose('notKept', 'the disk is nearly full');
    else this.#makeRoom();
  }

  /** Deletes bodies beyond the space for them. If the disk is low, they go before any event is rejected. @returns whether it is. */
  #makeRoom(): boolean {
    const { maxBytes, minFree } = this.#settings;
    const { bavail, blocks, bsize } = fs.statfsSync(this.#directory.path);
    const missing = Math.max(0, Math.min(minFree, blocks * bsize * REFUSED_FREE_PART) - bavail * bsize);
    const isDeleted = this.#attempt((file) => file.shrink(Math.min(maxBytes, file.bytes - missing)));
    if (isDeleted) this.#lose('deleted', 'there is no room for them');
    if (missing > 0) this.#attempt((file) => file.giveBack());
    return missing > 0;
  }

  /** Runs `work` on the file, and gives up one that cannot be used. @returns undefined if there is none, or that failed. */
  #attempt<Result>(work: (file: RefusedFile) => Result, { makes = false } = {}): Result | undefined {
    try {
      const file = this.#directory.file('refused');
      if (makes || fs.existsSync(file)) this.#file ??= new RefusedFile(file, 'write');
      return this.#file && work(this.#file);
    } catch (error) {
      return this.#fail(error);
    }
  }

  #fail(error: unknown): undefined {
    const kind = failureKind(error);
    if (kind === 'damaged') return this.#setAside();
    this.#lose('notKept', (error as Error).message);
    if (kind === 'full') this.#discard();
    else this.#giveUp();
  }

  #discard(): void {
    try {
      if (this.#file?.waiting(1).length) this.#lose('deleted', 'the disk is full');
    } catch {
      // It cannot be read on a full disk.
    }
    this.#giveUp();
    for (const name of ['refusedWal', 'refusedShm', 'refused'] as const)
      fs.rmSync(this.#directory.file(name), { force: true });
  }

  /** So that a person can read the rest of it; only the newest, so that a bad disk does not fill with them. */
  #setAside(): undefined {
    this.#giveUp();
    for (const older of this.#directory.damagedRefused()) fs.rmSync(older, { force: true });
    const file = this.#directory.file('refused');
    const aside = unusedName((time) => `${file}.damaged-${time}`);
    if (fs.existsSync(`${file}-wal`)) fs.renameSync(`${file}-wal`, `${aside}-wal`);
    fs.rmSync(`${file}-shm`, { force: true });
    fs.renameSync(file, aside);
    this.#onLost('setAside', { file: aside });
  }

  #giveUp(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #lose(what: Lost, reason: string): void {
    if (performance.now() < (this.#reportedAt.get(what) ?? Number.NEGATIVE_INFINITY) + REPORT_MS) return;
    this.#reportedAt.set(what, performance.now());
    this.#onLost(what, { reason });
  }

  #next<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#work.then(work);
    this.#work = done.catch((error) => this.#fail(error));
    return done;
  }
}

/** @returns the ids of the requests that name somebody, or whose body cannot be read. */
export async function namedIn(file: RefusedFile, names: Naming): Promise<string[]> {
  const ids: string[] = [];
  for (const { seq, id, error, source, courtId, gzip: packed } of file.all()) {
    const body = packed === null ? '' : await gunzip(packed).catch(() => undefined);
    if (body === undefined || names(`${error} ${source} ${courtId} ${body}`)) ids.push(id);
    if (seq % STEP_ROWS === 0) await setImmediate();
  }
  return ids;
}
