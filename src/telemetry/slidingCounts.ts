/** The windows that are counted: how many slots, and the milliseconds of each. */
export const WINDOWS = { minute: [60, 1_000], hour: [60, 60_000], day: [48, 1_800_000] } as const;

/** Values of a sliding time window, in a ring of time slots: counts, or the least of each slot. `at` is of a clock that never jumps. */
export class SlidingCounts {
  readonly #values: Float64Array;
  readonly #slotMs: number;
  readonly #empty: number;
  /** The number of the newest slot since the start of the clock. */
  #newest = 0;

  /**
   * The window is `slots` times `slotMs`, less the part of the newest slot that has not passed yet.
   * @param empty what a slot without values has: 0 for counts, infinity for the least.
   */
  constructor(slots: number, slotMs: number, empty = 0) {
    this.#values = new Float64Array(slots).fill(empty);
    this.#slotMs = slotMs;
    this.#empty = empty;
  }

  add(at: number, count = 1): void {
    this.#values[this.#advance(at)]! += count;
  }

  sum(at: number): number {
    this.#advance(at);
    return this.#values.reduce((sum, count) => sum + count, 0);
  }

  addLeast(at: number, value: number): void {
    const slot = this.#advance(at);
    this.#values[slot] = Math.min(value, this.#values[slot]!);
  }

  least(at: number): number {
    this.#advance(at);
    return Math.min(...this.#values);
  }

  clear(): void {
    this.#values.fill(this.#empty);
  }

  /** Clears the slots that have begun since the last call. @returns the index of the newest one. */
  #advance(at: number): number {
    const slots = this.#values.length;
    const now = Math.floor(at / this.#slotMs);
    for (let slot = Math.max(this.#newest + 1, now - slots + 1); slot <= now; slot++)
      this.#values[slot % slots] = this.#empty;
    this.#newest = Math.max(this.#newest, now);
    return this.#newest % slots;
  }
}
