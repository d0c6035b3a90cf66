import { setImmediate as nextTurn } from 'node:timers/promises';

/** The longest that requests wait while new connections are being accepted. */
const ACCEPT_BURST_MS = 20;

/**
 * Keeps turns of the event loop short during a burst of new connections. Node accepts one connection a turn: a camera that
 * connects behind a thousand others would wait for a thousand turns, each of them full of requests to parse.
 */
export class AcceptBurst {
  #ended: Promise<void> | undefined;
  #accepted = 0;

  onConnection(): void {
    this.#accepted++;
    this.#ended ??= this.untilQuiet(ACCEPT_BURST_MS).then(() => {
      this.#ended = undefined;
    });
  }

  /** @returns a promise that resolves when requests may be parsed; undefined where there is no burst. */
  ended(): Promise<void> | undefined {
    return this.#ended;
  }

  /** Resolves once no more connections arrive, after `maxMs` milliseconds at the latest. */
  async untilQuiet(maxMs: number): Promise<void> {
    const until = performance.now() + maxMs;
    for (let seen = -1; seen !== this.#accepted && performance.now() < until; ) {
      seen = this.#accepted;
      // Two turns: the first may have passed its accept phase already.
      await nextTurn();
      await nextTurn();
    }
  }
}
