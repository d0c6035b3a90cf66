/** Events whose lateness is remembered, to tell what is usual. */
const SAMPLES = 256;
/** The minutes of which the least lateness counts. */
const MINUTES = 5;
const MINUTE_MS = 60_000;
/** What is less than that apart may be one clock. */
const SAME_MS = 2_000;
/** Of the last events, how many must be as early as the earliest to say that it was the clock and no backlog, in percent. */
const AS_EARLY_PERCENT = 10;

export interface LatenessSummary {
  /** The source's clock less the box's, in milliseconds; undefined where it is not known. */
  readonly clockOffsetMs: number | undefined;
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
}

/** How long after their eot a source's events came, in milliseconds: below zero, its clock is ahead. */
export class Lateness {
  readonly #samples = new Float64Array(SAMPLES);
  #count = 0;
  readonly #least = new Float64Array(MINUTES).fill(Number.POSITIVE_INFINITY);
  #minute = 0;

  add(ms: number): void {
    this.#samples[this.#count++ % SAMPLES] = ms;
  }

  /** The least of some events. @param at of the monotonic clock. */
  noteLeast(at: number, ms: number): void {
    const slot = this.#advance(at);
    if (ms < this.#least[slot]!) this.#least[slot] = ms;
  }

  /** The box's clock was set: what came before was told by another one. */
  forget(): void {
    this.#count = 0;
    this.#least.fill(Number.POSITIVE_INFINITY);
  }

  summary(at: number): LatenessSummary {
    const sorted = this.#known().slice().sort();
    const quantile = (part: number) => sorted[Math.ceil(part * sorted.length) - 1];
    return { clockOffsetMs: this.clockOffsetMs(at), p50Ms: quantile(0.5), p95Ms: quantile(0.95) };
  }

  /**
   * The source's clock less the box's, in milliseconds; undefined where it is not known.
   * Network and detection only add to the lateness, so the least of the last minutes is the clock's. A camera that sends
   * what it has kept while it was cut off is late as well; but then each event is later than the one before by another amount.
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
