const [FIRST_MS, MOST_MS] = [1_000, 60_000];

/**
 * How long to wait after failures in a row: not at all after the first, then about 1 s, 2 s, 4 s, up to 60 s. Half of that is
 * random, so that forty boxes do not come back at the same moment.
 */
export class Backoff {
  #failures = 0;

  /** @param chance from 0 to 1. @returns milliseconds. */
  next(chance = Math.random()): number {
    const doublings = this.#failures++ - 1;
    if (doublings < 0) return 0;
    return Math.min(MOST_MS, FIRST_MS * 2 ** doublings) * (0.5 + chance / 2);
  }

  get isFailing(): boolean {
    return this.#failures > 0;
  }

  reset(): void {
    this.#failures = 0;
  }
}
