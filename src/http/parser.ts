import { Worker } from 'node:worker_threads';
import { readBatch } from '../protocol/batch.ts';
import type { CourtEvent } from '../protocol/event.ts';
import type { EventRules } from '../protocol/faults.ts';
import {
  BODY_WAIT_MS,
  PARSED_HERE_BYTES,
  PARSER_HEAP,
  PARSER_IDLE_MS,
  PARSER_SECONDS,
} from '../protocol/limits.ts';
import { Problem, type ProblemCode, type ProblemMembers } from '../protocol/problems.ts';
import { ownsMemory } from './free.ts';
import { gunzip } from './gunzip.ts';
import { FairQueue } from './queue.ts';
import { noRoom } from './room.ts';

export type BodyEncoding = 'identity' | 'gzip';

/** To the thread. */
export interface ParseTask {
  readonly body: Uint8Array;
  readonly encoding: BodyEncoding;
}

/** From the thread: the events of a body and how large it was when decoded, or what is wrong with it. */
export type ParseResult =
  | Parsed
  | { readonly problem: { code: ProblemCode; message: string; members: ProblemMembers } }
  | { readonly fault: string };

export interface ThreadData {
  readonly rules: EventRules;
  readonly bodyLimitBytes: number;
}

export interface Parsed {
  readonly events: CourtEvent[];
  readonly decodedBytes: number;
}

/** What limits.ts says of the thread, and less in tests. */
export interface ParserBounds {
  readonly heap?: { readonly [name in keyof typeof PARSER_HEAP]: number };
  readonly seconds?: { readonly [name in keyof typeof PARSER_SECONDS]: number };
  readonly idleMs?: number;
  readonly waitMs?: number;
}

interface Waiting {
  /** Undefined where it has waited for too long. */
  task: ParseTask | undefined;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (parsed: Parsed) => void;
  readonly reject: (error: Error) => void;
}

/**
 * From a body to its events. The usual ones are parsed at once; large ones on a thread of their own, because eight
 * MiB of numbers take most of a second, and the other cameras must not wait for them. It gets one body at a time.
 */
export class Parser {
  readonly #data: ThreadData;
  readonly #bounds: Required<ParserBounds>;
  readonly #queue = new FairQueue<Waiting>();
  #current: Waiting | undefined;
  #thread: Worker | undefined;
  #watch: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(data: ThreadData, bounds: ParserBounds = {}) {
    this.#data = data;
    this.#bounds = {
      heap: PARSER_HEAP,
      seconds: PARSER_SECONDS,
      idleMs: PARSER_IDLE_MS,
      waitMs: BODY_WAIT_MS,
      ...bounds,
    };
  }

  /** @throws {Problem} 400 or 413, or 503 after too long a wait; large bodies give it through the promise. */
  parse(client: string, body: Buffer, encoding: BodyEncoding): Parsed | Promise<Parsed> {
    const small = this.#small(body, encoding);
    if (small !== undefined)
      return { events: readBatch(small, this.#data.rules), decodedBytes: small.length };
    return new Promise((resolve, reject) => {
      // Its sender may have given up: two hundred packed bodies are a minute of work for nobody.
      const giveUp = () => {
        waiting.task = undefined;
        reject(noRoom());
      };
      const timer = setTimeout(giveUp, this.#bounds.waitMs);
      const waiting: Waiting = { task: { body, encoding }, timer, resolve, reject };
      this.#queue.add(client, waiting);
      this.#next();
    });
  }

  /** @returns the body, decoded, if it is small enough to be parsed here. */
  #small(body: Buffer, encoding: BodyEncoding): Buffer | undefined {
    if (body.length > PARSED_HERE_BYTES) return undefined;
    if (encoding === 'identity') return body;
    return gunzip(body, Math.min(PARSED_HERE_BYTES, this.#data.bodyLimitBytes));
  }

  #next(): void {
    if (this.#current !== undefined) return;
    let next = this.#queue.take();
    while (next !== undefined && next.task === undefined) next = this.#queue.take();
    clearTimeout(this.#idle);
    if (next?.task === undefined) {
      this.#idle = setTimeout(() => this.#end(), this.#bounds.idleMs).unref();
      return;
    }
    clearTimeout(next.timer);
    this.#current = next;
    this.#hand(next.task);
  }

  #hand(task: ParseTask): void {
    try {
      const thread = this.#running();
      thread.postMessage(task, ownsMemory(task.body) ? [task.body.buffer] : []);
      this.#watch = this.#watchOver(thread);
    } catch (error) {
      // The system has no thread left: this body fails, and the next one is tried.
      this.#take()?.reject(error as Error);
      this.#next();
    }
  }

  /** Started when it is needed; a venue that sends small bodies never has it. */
  #running(): Worker {
    if (this.#thread !== undefined) return this.#thread;
    // The same ending as this file: .ts from a checkout, .js in the package.
    const file = import.meta.url.replace(/parser(\.\w+)$/, 'parserThread$1');
    const { baseMib, perBodyByte, nurseryMib } = this.#bounds.heap;
    const resourceLimits = {
      maxOldGenerationSizeMb: baseMib + perBodyByte * this.#bodyLimitMib(),
      maxYoungGenerationSizeMb: nurseryMib,
    };
    const thread = new Worker(new URL(file), { workerData: this.#data, resourceLimits });
    thread.on('message', (result: ParseResult) => this.#settle(result));
    thread.on('error', (error) => this.#lost(thread, error as Error));
    thread.on('exit', () => this.#lost(thread, new Error('the parser thread has ended')));
    // After its listeners: each makes it count again.
    thread.unref();
    this.#thread = thread;
    return thread;
  }

  /** It is idle: what its heap has grown to would stay taken. */
  #end(): void {
    const thread = this.#thread;
    this.#thread = undefined;
    void thread?.terminate();
  }

  #bodyLimitMib(): number {
    return this.#data.bodyLimitBytes / 1024 ** 2;
  }

  /**
   * Ends the thread when the body that it has takes too long. Counted are the seconds in which this thread ran: while a
   * disk hangs it does not, and the result may be there already.
   */
  #watchOver(thread: Worker): NodeJS.Timeout {
    const { base, perBodyMib } = this.#bounds.seconds;
    let left = Math.ceil(base + perBodyMib * this.#bodyLimitMib());
    return setInterval(() => {
      if (--left !== 0) return;
      // A result that comes after all is too late. The next body waits for the end (#lost): two threads would take twice
      // the memory.
      thread.removeAllListeners('message');
      this.#current?.reject(this.#tooMuch('time'));
      void thread.terminate();
    }, 1000);
  }

  #settle(result: ParseResult): void {
    const current = this.#take();
    if ('events' in result) current?.resolve(result);
    else if ('problem' in result) current?.reject(problemOf(result.problem));
    else current?.reject(new Error(result.fault));
    this.#next();
  }

  /** The request that it had fails, and the next one gets a new thread. */
  #lost(thread: Worker, error: NodeJS.ErrnoException): void {
    // An error is followed by an exit, which is not the next thread's.
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    const current = this.#take();
    current?.reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? this.#tooMuch('memory') : error);
    this.#next();
  }

  /** @returns the body that the thread had: it is done with it. */
  #take(): Waiting | undefined {
    const current = this.#current;
    this.#current = undefined;
    clearInterval(this.#watch);
    return current;
  }

  /** No body is known that does this to the thread of a usual box. Sent again, it would do the same: it must not be told to be. */
  #tooMuch(what: 'memory' | 'time'): Problem {
    const sentence =
      `Reading this body takes more ${what} than there is: send fewer or smaller events in one request. ` +
      'Nothing was stored.';
    return new Problem('body_too_large', sentence, { limit_bytes: this.#data.bodyLimitBytes });
  }
}

function problemOf({
  code,
  message,
  members,
}: {
  code: ProblemCode;
  message: string;
  members: ProblemMembers;
}): Problem {
  return new Problem(code, message, members);
}
