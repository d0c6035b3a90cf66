import { Backoff } from '../../base/backoff.ts';
import { BATCH_EVENTS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import type { BoxConnection } from './boxConnection.ts';
import { decide } from './retryPolicy.ts';

/** Events that a camera buffers: ten minutes of a player tracker. While the buffer is full, new ones are dropped. */
const BUFFERED_EVENTS = 20_000;
/** How often a camera sends what it has seen. */
const SEND_EVERY_MS = 500;
/** How often it sends a sign of life, while there is nothing else to send. */
const ALIVE_EVERY_MS = 60_000;

interface SenderOptions {
  /** From 0 to below 1: the jitter of waits. */
  readonly random: () => number;
  /** Whether to send a batch once more that has just been stored, as a camera does that missed the answer. */
  readonly repeats?: () => boolean;
  /** How often to say so while there is nothing to send, in milliseconds; infinite: never. */
  readonly aliveEveryMs?: number;
  /** Shared with other senders. */
  readonly counts?: typeof NO_COUNTS;
  /** Called with a fault, once until it changes or something is stored. */
  readonly onProblem?: (problem: string) => void;
}

/** How many requests, and of their events how many were stored, sent again, and rejected for good. */
export const NO_COUNTS = { requests: 0, accepted: 0, duplicates: 0, refused: 0 };

/**
 * Sends a camera's events as the vendor's guide says: each stays in memory until it is stored or rejected for good. While there are
 * none, an empty array each minute says that the camera is there.
 */
export class Sender {
  readonly counts: typeof NO_COUNTS;
  readonly #connection: BoxConnection;
  readonly #options: SenderOptions;
  /** As JSON texts, so that an event is the same bytes whenever it is sent. */
  #buffer: string[] = [];
  #inFlight = 0;
  #overflowed = 0;
  #isEnding = false;
  readonly #abort = new AbortController();
  /** What was reported last, unless it has passed. */
  #problem = '';

  constructor(connection: BoxConnection, options: SenderOptions) {
    this.#connection = connection;
    this.#options = options;
    this.counts = options.counts ?? { ...NO_COUNTS };
  }

  /** How many events are neither known to be stored nor rejected for good, and those for which there was no room. */
  get undelivered(): number {
    return this.#buffer.length + this.#inFlight + this.#overflowed;
  }

  /** @param text an event as JSON text. */
  offer(text: string): void {
    if (this.#buffer.length < BUFFERED_EVENTS) this.#buffer.push(text);
    else this.#overflowed++;
  }

  /** Sends until `end`, and then the rest. Never throws. */
  async run(): Promise<void> {
    const { aliveEveryMs = ALIVE_EVERY_MS } = this.#options;
    let sentAt = performance.now();
    while (!this.#abort.signal.aborted) {
      const texts = this.#buffer.splice(0, BATCH_EVENTS);
      this.#inFlight = texts.length;
      if (texts.length > 0 || performance.now() - sentAt >= aliveEveryMs) {
        await this.#deliver(texts);
        sentAt = performance.now();
      } else if (this.#isEnding) break;
      const hasBacklog = this.#buffer.length >= BATCH_EVENTS;
      if (!this.#isEnding && !hasBacklog) await pause(SEND_EVERY_MS, this.#abort.signal);
    }
    this.#connection.close();
  }

  /** Ends `run` once everything is sent. @param withinMs after so long, `run` ends and leaves the rest unsent. */
  end(withinMs: number): void {
    this.#isEnding = true;
    setTimeout(() => this.#abort.abort(), withinMs).unref();
  }

  async #deliver(texts: readonly string[]): Promise<void> {
    const body = Buffer.from(`[${texts.join(',')}]`);
    const backoff = new Backoff();
    while (!this.#abort.signal.aborted) {
      this.counts.requests++;
      const decision = decide(await this.#connection.post(body, this.#abort.signal), texts.length);
      switch (decision.kind) {
        case 'stored':
          this.#problem = '';
          this.counts.accepted += texts.length - decision.duplicates;
          this.counts.duplicates += decision.duplicates;
          if (this.#options.repeats?.() === true) break;
          this.#inFlight -= texts.length;
          return;
        case 'retry':
          if (this.#abort.signal.aborted) return;
          this.#report(decision.why);
          await pause(backoff.next(decision.toldMs, this.#options.random()), this.#abort.signal);
          break;
        case 'split': {
          const half = Math.ceil(texts.length / 2);
          await this.#deliver(texts.slice(0, half));
          return this.#deliver(texts.slice(half));
        }
        case 'drop': {
          const { dropped, why } = decision;
          this.counts.refused += dropped.size;
          this.#inFlight -= dropped.size;
          this.#report(why);
          const others = texts.filter((_, i) => !dropped.has(i));
          return dropped.size === texts.length ? undefined : this.#deliver(others);
        }
      }
    }
  }

  #report(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.onProblem?.(problem);
  }
}
