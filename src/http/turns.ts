import { ACCEPTING_MS, REQUEST_COST_BYTES, TURN_BYTES } from '../protocol/limits.ts';
import { FairQueue } from './queue.ts';

interface Waiting {
  readonly costBytes: number;
  readonly go: () => void;
}

/**
 * Requests whose bodies are there, on their way to the store: only so many in one turn of the event loop. Without
 * it, a client with a thousand connections fills each turn with a thousand requests, and a camera waits for all of
 * them: when it asks, and again when it is answered.
 *
 * And when it connects, because Node accepts one connection in a turn: while they come, turns are kept short.
 */
export class Turns {
  readonly #waiting = new FairQueue<Waiting>();
  #leftBytes = TURN_BYTES;
  #isScheduled = false;
  #connectionCame = false;
  /** When a turn last let requests go, in milliseconds of the monotonic clock. */
  #wentAt = 0;

  /** There may be more behind it. */
  connectionCame(): void {
    this.#connectionCame = true;
    this.#leftBytes = 0;
    this.#schedule();
  }

  /** @returns when it is this request's turn; undefined where that is now. */
  take(client: string, bodyBytes: number): Promise<void> | undefined {
    const costBytes = bodyBytes + REQUEST_COST_BYTES;
    this.#schedule();
    if (this.#waiting.isEmpty && this.#leftBytes > 0) {
      this.#leftBytes -= costBytes;
      return undefined;
    }
    return new Promise((go) => this.#waiting.add(client, { costBytes, go }));
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    const now = performance.now();
    if (this.#connectionCame && now - this.#wentAt < ACCEPTING_MS) {
      this.#connectionCame = false;
      this.#schedule();
      return;
    }
    this.#connectionCame = false;
    this.#wentAt = now;
    this.#leftBytes = TURN_BYTES;
    while (this.#leftBytes > 0) {
      const next = this.#waiting.take();
      if (next === undefined) return;
      this.#leftBytes -= next.costBytes;
      next.go();
    }
    this.#schedule();
  }
}
