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
    this.#advance(at);
    const sorted = this.#samples.slice(0, Math.min(this.#count, SAMPLES)).sort();
    const quantile = (part: number) => sorted[Math.ceil(part * sorted.length) - 1];
    return { clockOffsetMs: this.#offsetMs(sorted), p50Ms: quantile(0.5), p95Ms: quantile(0.95) };
  }

  /**
   * Network and detection only add to the lateness, so the least of the last minutes is the clock's (design 7). A camera that sends
   * what it has kept while it was cut off is late as well; but then each event is later than the one before by another amount.
   */
  #offsetMs(sorted: Float64Array): number | undefined {
    const least = Math.min(...this.#least);
    const [earliest] = sorted;
    if (earliest === undefined || !Number.isFinite(least)) return undefined;
    const asEarly = sorted.filter((ms) => ms <= earliest + SAME_MS).length;
    const isBacklog = least > SAME_MS && asEarly * 100 < sorted.length * AS_EARLY_PERCENT;
    return isBacklog ? undefined : -least;
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
