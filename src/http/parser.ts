import { Worker } from 'node:worker_threads';
import { readBatch } from '../protocol/batch.ts';
import type { CourtEvent } from '../protocol/event.ts';
import type { EventRules } from '../protocol/faults.ts';
import { PARSED_HERE_BYTES, PARSER_HEAP } from '../protocol/limits.ts';
import { Problem, type ProblemCode, type ProblemMembers } from '../protocol/problems.ts';

export type BodyEncoding = 'identity' | 'gzip';

/** To the thread. */
export interface ParseTask {
  readonly id: number;
  readonly body: Uint8Array;
  readonly encoding: BodyEncoding;
}

/** From the thread: the events of a body and how large it was when decoded, or what is wrong with it. */
export type ParseResult = { readonly id: number } & (
  | { readonly events: CourtEvent[]; readonly decodedBytes: number }
  | { readonly problem: { code: ProblemCode; message: string; members: ProblemMembers } }
  | { readonly fault: string }
);

export interface ThreadData {
  readonly rules: EventRules;
  readonly bodyLimitBytes: number;
}

export interface Parsed {
  readonly events: CourtEvent[];
  readonly decodedBytes: number;
}

interface Waiting {
  readonly resolve: (parsed: Parsed) => void;
  readonly reject: (error: Error) => void;
}

/**
 * From a body to its events. The usual ones are parsed at once; large ones and packed ones on a thread of their own,
 * because eight MiB of numbers take half a second, and the other cameras must not wait for them.
 */
export class Parser {
  readonly #data: ThreadData;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | undefined;
  #lastId = 0;

  constructor(data: ThreadData) {
    this.#data = data;
  }

  /** @throws {Problem} 400 or 413; large bodies give it through the promise. */
  parse(body: Buffer, encoding: BodyEncoding): Parsed | Promise<Parsed> {
    if (encoding === 'identity' && body.length <= PARSED_HERE_BYTES) {
      return { events: readBatch(body, this.#data.rules), decodedBytes: body.length };
    }
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      const task: ParseTask = { id, body, encoding };
      this.#running().postMessage(task, ownsMemory(body) ? [body.buffer as ArrayBuffer] : []);
    });
  }

  /** Started when it is first needed; a venue that sends small bodies never has it. */
  #running(): Worker {
    if (this.#thread !== undefined) return this.#thread;
    // The same ending as this file: .ts from a checkout, .js in the package.
    const file = import.meta.url.replace(/parser(\.\w+)$/, 'parserThread$1');
    const { baseMib, perBodyByte, nurseryMib } = PARSER_HEAP;
    const resourceLimits = {
      maxOldGenerationSizeMb: baseMib + (perBodyByte * this.#data.bodyLimitBytes) / 1024 ** 2,
      maxYoungGenerationSizeMb: nurseryMib,
    };
    const thread = new Worker(new URL(file), { workerData: this.#data, resourceLimits });
    thread.unref();
    thread.on('message', (result: ParseResult) => this.#settle(result));
    thread.on('error', (error) => this.#lost(error as Error));
    thread.on('exit', () => this.#lost(new Error('the parser thread has ended')));
    this.#thread = thread;
    return thread;
  }

  #settle(result: ParseResult): void {
    const waiting = this.#waiting.get(result.id);
    this.#waiting.delete(result.id);
    if ('events' in result) waiting?.resolve(result);
    else if ('problem' in result) waiting?.reject(problemOf(result.problem));
    else waiting?.reject(new Error(result.fault));
  }

  /** Out of memory, most likely: its requests fail, and the next one starts a new thread. */
  #lost(error: Error): void {
    this.#thread = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
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

/** Small buffers share their memory with others and must be copied. */
function ownsMemory(body: Buffer): boolean {
  return body.byteOffset === 0 && body.byteLength === body.buffer.byteLength;
}
