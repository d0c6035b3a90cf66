const [FIRST_MS, LONGEST_MS, JITTER] = [1_000, 30_000, 0.2];

/**
 * How long to wait after failures in a row: 1 s, and twice as long each time, up to 30 s. The jitter keeps those who were cut off at
 * the same moment from coming back at the same moment.
 */
export class Backoff {
  #nextMs = FIRST_MS;

  /** @param toldMs what the other end has asked for. @param chance from 0 to below 1. @returns milliseconds, at least 1 s. */
  next(toldMs?: number, chance = Math.random()): number {
    const waitMs = Math.max(FIRST_MS, toldMs ?? this.#nextMs);
    this.#nextMs = Math.min(LONGEST_MS, this.#nextMs * 2);
    return waitMs * (1 + chance * JITTER);
  }

  get isFailing() {
    return this.#nextMs > FIRST_MS;
  }
}
