import { setImmediate as nextTurn } from 'node:timers/promises';

/** The longest that requests wait while new connections are being accepted. */
const ACCEPT_BURST_MS = 20;

/**
 * Keeps turns of the event loop short during a burst of new connections. Node accepts one connection a turn: a camera that
 * connects behind a thousand others would wait for a thousand turns, each with requests to parse in it.
 */
export class AcceptBurst {
  #ended: Promise<void> | undefined;
  #hasNew = false;

  onConnection(): void {
    this.#hasNew = true;
    this.#ended ??= this.#waitForEnd();
  }

  /** @returns settles when requests may be parsed; undefined where there is no burst. */
  ended(): Promise<void> | undefined {
    return this.#ended;
  }

  async #waitForEnd(): Promise<void> {
    const until = performance.now() + ACCEPT_BURST_MS;
    while (this.#hasNew && performance.now() < until) {
      this.#hasNew = false;
      // Two turns: the first may have passed its accept phase already.
      await nextTurn();
      await nextTurn();
    }
    this.#ended = undefined;
  }
}
