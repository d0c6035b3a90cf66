import { BATCH_EVENTS } from '../base/limits.ts';
import { pause } from '../base/pause.ts';
import { Backoff, decide } from './answer.ts';
import type { BoxConnection } from './boxConnection.ts';

/** Events that a camera buffers, ten minutes of a player tracker's. When the buffer is full, new ones are lost. */
const BUFFERED_EVENTS = 20_000;
/** How often a camera sends what it has seen. */
const SEND_EVERY_MS = 500;

export interface SenderOptions {
  /** From 0 to below 1: spreads waits. */
  readonly random: () => number;
  /** Whether a batch that was just stored is sent once more, as by a camera that missed the answer. */
  readonly repeats?: () => boolean;
  /** Called with what is wrong, whenever that changes; with an empty text when it is over. */
  readonly onProblem?: (what: string) => void;
}

export interface SenderCounts {
  requests: number;
  accepted: number;
  duplicates: number;
  /** Events that the box refused for good. */
  refused: number;
  /** Events that did not fit into the buffer. */
  overflowed: number;
}

/** A camera that sends as the vendor's guide says: what it has seen stays in its buffer until it is stored. */
export class Sender {
  readonly counts: SenderCounts = { requests: 0, accepted: 0, duplicates: 0, refused: 0, overflowed: 0 };
  readonly #connection: BoxConnection;
  readonly #options: SenderOptions;
  /** JSON texts: an event is the same bytes whenever it is sent. */
  #buffer: string[] = [];
  #underWay = 0;
  #isEnding = false;
  readonly #abort = new AbortController();
  #problem = '';

  constructor(connection: BoxConnection, options: SenderOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** Events that are not known to be stored. */
  get waiting(): number {
    return this.#buffer.length + this.#underWay;
  }

  /** @param text an event as JSON text. */
  offer(text: string): void {
    if (this.waiting >= BUFFERED_EVENTS) this.counts.overflowed++;
    else this.#buffer.push(text);
  }

  /** Sends until `end`, and then what is left. */
  async run(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      const texts = this.#buffer.splice(0, BATCH_EVENTS);
      this.#underWay = texts.length;
      if (texts.length > 0) await this.#deliver(texts);
      else if (this.#isEnding) break;
      const hasBacklog = this.#buffer.length >= BATCH_EVENTS;
      if (!this.#isEnding && !hasBacklog) await pause(SEND_EVERY_MS, this.#abort.signal);
    }
    this.#connection.close();
  }

  /** Takes no more events. @param withinMs how long it may go on sending what is left. */
  end(withinMs: number): void {
    this.#isEnding = true;
    setTimeout(() => this.#abort.abort(), withinMs).unref();
  }

  async #deliver(texts: readonly string[]): Promise<void> {
    const body = Buffer.from(`[${texts.join(',')}]`);
    const backoff = new Backoff(this.#options.random);
    while (!this.#abort.signal.aborted) {
      this.counts.requests++;
      const decision = decide(await this.#connection.post(body, this.#abort.signal), texts.length);
      switch (decision.kind) {
        case 'stored':
          this.#tell('');
          this.counts.accepted += texts.length - decision.duplicates;
          this.counts.duplicates += decision.duplicates;
          this.#underWay -= texts.length;
          if (this.#options.repeats?.() !== true) return;
          this.#underWay += texts.length;
          break;
        case 'again':
          if (this.#abort.signal.aborted) return;
          this.#tell(decision.why);
          await pause(backoff.wait(decision.toldS) * 1000, this.#abort.signal);
          break;
        case 'split': {
          const half = Math.ceil(texts.length / 2);
          await this.#deliver(texts.slice(0, half));
          return this.#deliver(texts.slice(half));
        }
        case 'drop':
          this.#refuse(decision.named.size, decision.why);
          if (decision.named.size === texts.length) return;
          return this.#deliver(texts.filter((_, i) => !decision.named.has(i)));
        case 'giveUp':
          return this.#refuse(texts.length, decision.why);
      }
    }
  }

  #refuse(count: number, why: string): void {
    this.counts.refused += count;
    this.#underWay -= count;
    this.#tell(why);
  }

  #tell(what: string): void {
    if (what === this.#problem) return;
    this.#problem = what;
    this.#options.onProblem?.(what);
  }
}
