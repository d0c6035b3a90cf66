/** The upper ends of the classes that pauses are counted in, in milliseconds. Shorter ones than the first need not be. */
const CLASSES_MS = [5, 15, 30, 45, 75, 150, 300, 600, 1_200, 2_400, 4_800, 86_400].map((s) => s * 1_000);
/** Pauses that make a usual one: one or two may have been a cable, or a camera that was started again. */
const USUAL_TIMES = 3;
/** So often all counts are halved: what a camera did last month says little. */
const HALVED_MS = 86_400_000;

/** Shorter pauses need not be told. */
export const SHORT_PAUSE_MS = CLASSES_MS[0]!;

/** How long a source usually pauses, learned from the pauses that it has ended itself. */
export class Pauses {
  readonly #times = new Uint16Array(CLASSES_MS.length);
  #halvedAt: number;
  #usualMs = 0;

  constructor(now: number) {
    this.#halvedAt = now;
  }

  /** The longest that is usual, in milliseconds; 0 where none is. */
  get usualMs(): number {
    return this.#usualMs;
  }

  ended(ms: number, now: number): void {
    for (; now - this.#halvedAt >= HALVED_MS; this.#halvedAt += HALVED_MS) {
      this.#times.forEach((times, i) => {
        this.#times[i] = times >> 1;
      });
    }
    const found = CLASSES_MS.findIndex((end) => ms <= end);
    const at = found < 0 ? CLASSES_MS.length - 1 : found;
    this.#times[at] = Math.min(this.#times[at]! + 1, 0xffff);
    const usual = this.#times.findLastIndex((times) => times >= USUAL_TIMES);
    this.#usualMs = usual <= 0 ? 0 : CLASSES_MS[usual]!;
  }
}
