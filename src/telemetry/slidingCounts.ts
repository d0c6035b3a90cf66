/** Counts of several kinds over a sliding time window, in a ring of time slots. Counting allocates nothing. */
export class SlidingCounts {
  readonly #kinds: number;
  readonly #slots: number;
  readonly #slotMs: number;
  readonly #counts: Uint32Array;
  /** The number of the newest slot since the start of the clock. */
  #newest = 0;

  /** The window is `slots` times `slotMs`, less the part of the newest slot that has not passed yet. */
  constructor(kinds: number, slots: number, slotMs: number) {
    this.#kinds = kinds;
    this.#slots = slots;
    this.#slotMs = slotMs;
    this.#counts = new Uint32Array(kinds * slots);
  }

  /** @param at milliseconds of the monotonic clock. */
  add(at: number, kind: number, count: number): void {
    const slot = this.#advance(at);
    this.#counts[slot * this.#kinds + kind]! += count;
  }

  sum(at: number, kind: number): number {
    this.#advance(at);
    let sum = 0;
    for (let i = kind; i < this.#counts.length; i += this.#kinds) sum += this.#counts[i]!;
    return sum;
  }

  /** Clears the slots that have begun since the last call. @returns the index of the newest one. */
  #advance(at: number): number {
    const now = Math.floor(at / this.#slotMs);
    const passed = Math.min(now - this.#newest, this.#slots);
    for (let i = 0; i < passed; i++) {
      const start = ((now - i) % this.#slots) * this.#kinds;
      this.#counts.fill(0, start, start + this.#kinds);
    }
    if (passed > 0) this.#newest = now;
    return this.#newest % this.#slots;
  }
}
