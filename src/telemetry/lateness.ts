/** Events whose lateness is remembered: the quantiles are of these. */
const SAMPLES = 256;
/** The clock offset is taken from the least lateness of this many minutes. */
const MINUTES = 5;
const MINUTE_MS = 60_000;
/** Latenesses that differ by less may be of the same clock. */
const SAME_MS = 2_000;
/** Percent of the last events that must be about as early as the earliest: fewer, and it is a backlog rather than the clock. */
const AS_EARLY_PERCENT = 10;

/** How long after their eot a source's events are received, in milliseconds; negative where its clock is ahead. */
export class Lateness {
  readonly #samples = new Float64Array(SAMPLES);
  #count = 0;
  readonly #least = new Float64Array(MINUTES).fill(Number.POSITIVE_INFINITY);
  #minute = 0;

  add(ms: number): void {
    this.#samples[this.#count++ % SAMPLES] = ms;
  }

  /** @param ms the least lateness of some events. @param at when they were received, by the monotonic clock. */
  noteLeast(at: number, ms: number): void {
    const slot = this.#advance(at);
    if (ms < this.#least[slot]!) this.#least[slot] = ms;
  }

  /** Call it when the box's clock was set: what was measured before is no longer comparable. */
  forget(): void {
    this.#count = 0;
    this.#least.fill(Number.POSITIVE_INFINITY);
  }

  /** @returns undefined members where nothing is known. */
  summary(at: number) {
    const sorted = this.#known().slice().sort();
    const quantile = (part: number) => sorted[Math.ceil(part * sorted.length) - 1];
    return { clockOffsetMs: this.clockOffsetMs(at), p50Ms: quantile(0.5), p95Ms: quantile(0.95) };
  }

  /**
   * The source's clock minus the box's, in milliseconds; undefined where it is not known. Network and detection only add to the
   * lateness, so the least of the last minutes is that of the clock. A camera that sends a backlog after a disconnection is late
   * as well, but each of its events by a different amount.
   */
  clockOffsetMs(at: number): number | undefined {
    this.#advance(at);
    const least = Math.min(...this.#least);
    const samples = this.#known();
    if (samples.length === 0 || !Number.isFinite(least)) return undefined;
    if (least <= SAME_MS) return -least;
    const latestOfThem = Math.min(...samples) + SAME_MS;
    const asEarly = samples.filter((ms) => ms <= latestOfThem).length;
    return asEarly * 100 < samples.length * AS_EARLY_PERCENT ? undefined : -least;
  }

  #known(): Float64Array {
    return this.#samples.subarray(0, Math.min(this.#count, SAMPLES));
  }

  #advance(at: number): number {
    const now = Math.floor(at / MINUTE_MS);
    for (let i = Math.max(this.#minute + 1, now - MINUTES + 1); i <= now; i++) {
      this.#least[i % MINUTES] = Number.POSITIVE_INFINITY;
    }
    this.#minute = Math.max(this.#minute, now);
    return this.#minute % MINUTES;
  }
}
