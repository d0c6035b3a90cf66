/** The windows that are counted: how many slots, and the milliseconds of each. */
export const WINDOWS = { minute: [60, 1_000], hour: [60, 60_000], day: [48, 1_800_000] } as const;

/** Values of a sliding time window, in slots of time: counts, or the least of each slot. `at` is of a clock that never jumps. */
export class SlidingCounts {
  readonly #most: number;
  readonly #slotMs: number;
  /** By the number of the slot since the start of the clock. */
  readonly #slots = new Map<number, number>();

  /** The window is `slots` times `slotMs`, less the part of the newest slot that has not passed yet. */
  constructor(slots: number, slotMs: number) {
    this.#most = slots;
    this.#slotMs = slotMs;
  }

  add(at: number, count = 1): void {
    this.#put(at, (before = 0) => before + count);
  }

  addLeast(at: number, value: number): void {
    this.#put(at, (before = value) => Math.min(before, value));
  }

  #put(at: number, join: (before?: number) => number): void {
    const slot = Math.floor(at / this.#slotMs);
    this.#slots.set(slot, join(this.#slots.get(slot)));
    if (this.#slots.size > this.#most) this.values(at);
  }

  sum(at: number): number {
    return this.values(at).reduce((sum, count) => sum + count, 0);
  }

  /** @returns the value of each slot of the window that has one. */
  values(at: number): number[] {
    const oldest = Math.floor(at / this.#slotMs) - this.#most;
    for (const slot of this.#slots.keys()) if (slot <= oldest) this.#slots.delete(slot);
    return [...this.#slots.values()];
  }

  clear(): void {
    this.#slots.clear();
  }
}
