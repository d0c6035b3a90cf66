import { once } from 'node:events';
import fs from 'node:fs';
import { Worker } from 'node:worker_threads';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { REFUSED_QUEUE_BYTES, REFUSED_WRITE_MS } from '../../base/limits.ts';
import { ownCopy } from '../../base/ownMemory.ts';
import { pause } from '../../base/pause.ts';
import { workerFile } from '../sqlite/workerThread.ts';
import type { RefusedBody, WaitingEvents } from './refusedBody.ts';

/** What the worker thread works with. */
export interface RefusedSettings {
  /** Of the data. */
  readonly directory: string;
  /** Bytes of all that is kept; 0 keeps none. */
  readonly bound: number;
  /** Free space that the operator wants, in bytes. */
  readonly minFree: number;
}

/** A refused body, with what must not be kept of it. */
export interface QueuedBody extends RefusedBody {
  readonly token: string | undefined;
}

/** To the worker thread: bodies to keep, and whether the disk is full. */
export interface KeepRequest {
  readonly bodies: readonly QueuedBody[];
  readonly isDiskFull: boolean;
}

/** What was lost. */
export interface Lost {
  /** That were not kept. */
  readonly bodies: number;
  /** That waited to be mended, and were let go: there is no room for them, or they are too old. */
  readonly events: number;
  /** What a damaged file is called now. */
  readonly setAside?: string;
  /** Why, where nothing is kept at the moment. */
  readonly failure?: string;
}

/** From the worker thread: an answer to each request; besides, it looks after what is kept. */
export interface WorkerMessage extends Lost {
  readonly isAnswer: boolean;
  readonly waiting: readonly WaitingEvents[];
}

const NOTHING: Lost = { bodies: 0, events: 0 };
/** Memory of a body in the queue beyond its bytes. */
const OVERHEAD_BYTES = 500;
/** Milliseconds between two reports of what was lost. */
const TELL_MS = 60_000;

/**
 * Keeps refused bodies, out of the way of ingest: here they are only queued, within bounds, and handed to a worker thread once a
 * second. It begins with the first of them.
 */
export class RefusedKeeper {
  /** Events that wait to be mended, by who sent them. */
  waiting: readonly WaitingEvents[] = [];
  readonly #settings: RefusedSettings;
  readonly #onLost: (lost: Lost) => void;
  #worker: Worker | undefined;
  #queue: QueuedBody[] = [];
  #bytesOf = new Map<string, number>();
  #bytes = 0;
  #lost = NOTHING;
  #toldAt = Number.NEGATIVE_INFINITY;
  #isDiskFull = false;
  /** While the worker has a request, or one is due. */
  #working: Promise<void> | undefined;
  #hurry = new AbortController();

  /** @param onLost told at most once a minute. */
  constructor(settings: RefusedSettings, onLost: (lost: Lost) => void) {
    this.#settings = settings;
    this.#onLost = onLost;
  }

  /** Looks after what is kept from before. */
  begin(): void {
    if (fs.existsSync(new DataDirectory(this.#settings.directory).file('refused'))) this.#start();
  }

  /** Queues a body; its bytes are copied. */
  keep(body: QueuedBody): void {
    if (this.#settings.bound === 0) return;
    const size = body.bytes.length + OVERHEAD_BYTES;
    const own = this.#bytesOf.get(body.sender) ?? 0;
    const { all, ofASender } = REFUSED_QUEUE_BYTES;
    if ((own > 0 && own + size > ofASender) || (this.#bytes > 0 && this.#bytes + size > all))
      this.#lost = { ...this.#lost, bodies: this.#lost.bodies + 1 };
    else {
      this.#queue.push({ ...body, bytes: ownCopy(body.bytes) });
      this.#bytesOf.set(body.sender, own + size);
      this.#bytes += size;
    }
    this.#working ??= this.#write(REFUSED_WRITE_MS);
  }

  /** On a full disk they are the first to go. */
  diskFull(): void {
    if (this.#worker === undefined) return;
    this.#isDiskFull = true;
    this.#working ??= this.#write(0);
  }

  /** @returns once all that came so far is on disk. */
  async flushed(): Promise<void> {
    this.#hurry.abort();
    while (this.#working !== undefined) await this.#working;
    this.#hurry = new AbortController();
  }

  async close(): Promise<void> {
    await this.flushed();
    await this.#worker?.terminate();
  }

  /** Writes what has come until then, and goes on while there is more: half of the time at most. */
  async #write(waitMs: number): Promise<void> {
    await pause(waitMs, this.#hurry.signal);
    const startedAt = performance.now();
    const request: KeepRequest = { bodies: this.#queue, isDiskFull: this.#isDiskFull };
    this.#queue = [];
    this.#bytesOf.clear();
    this.#bytes = 0;
    this.#isDiskFull = false;
    this.#count(await this.#ask(request));
    const tookMs = performance.now() - startedAt;
    const isMore = this.#queue.length > 0 || this.#isDiskFull;
    this.#working = isMore ? this.#write(Math.max(tookMs, REFUSED_WRITE_MS)) : undefined;
  }

  async #ask(request: KeepRequest): Promise<Lost> {
    const worker = this.#start();
    try {
      const answer = once(worker, 'answer');
      worker.postMessage(
        request,
        request.bodies.map(({ bytes }) => bytes.buffer as ArrayBuffer),
      );
      return ((await answer) as [Lost])[0];
    } catch (error) {
      return { ...NOTHING, bodies: request.bodies.length, failure: (error as Error).message };
    }
  }

  #count(more: Lost): void {
    const [bodies, events] = [this.#lost.bodies + more.bodies, this.#lost.events + more.events];
    const lost = { ...this.#lost, ...more, bodies, events };
    this.#lost = lost;
    const now = performance.now();
    const isNone = bodies === 0 && events === 0 && lost.setAside === undefined;
    if (isNone || now - this.#toldAt < TELL_MS) return;
    this.#toldAt = now;
    this.#onLost(this.#lost);
    this.#lost = NOTHING;
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(workerFile('refusedWorker', import.meta.url), { workerData: this.#settings });
    worker.on('message', ({ isAnswer, waiting, ...lost }: WorkerMessage) => {
      this.waiting = waiting;
      if (isAnswer) worker.emit('answer', lost);
      else this.#count(lost);
    });
    // It begins again with the next body.
    worker.on('error', ({ message: failure }) => {
      this.#worker = undefined;
      this.#lost = { ...this.#lost, failure };
    });
    worker.unref();
    this.#worker = worker;
    return worker;
  }
}
