import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long requests wait at most while new connections come in: Node accepts one in a turn of the event loop. */
const ACCEPTING_MS = 20;

/**
 * Keeps turns of the event loop short while connections come: Node accepts one in a turn, and a camera that connects behind a
 * thousand others would wait for as many turns with requests in them.
 */
export class AcceptBurst {
  #over: Promise<void> | undefined;
  #another = false;

  connectionCame(): void {
    this.#another = true;
    this.#over ??= this.#wait();
  }

  /** @returns when requests may be worked on; undefined where that is now. */
  over(): Promise<void> | undefined {
    return this.#over;
  }

  async #wait(): Promise<void> {
    const until = performance.now() + ACCEPTING_MS;
    while (this.#another && performance.now() < until) {
      this.#another = false;
      // The first turn may be half over.
      await nextTurn();
      await nextTurn();
    }
    this.#over = undefined;
  }
}
