import { DAY_MS } from '../base/units.ts';

/** Events whose lateness is remembered: the quantile is of these. */
const SAMPLES = 256;
/** The clock offset is taken from the least lateness of this many minutes. */
const MINUTES = 5;
const MINUTE_MS = 60_000;
/** Events whose lateness differs by less are live: nothing but the network and the detection has delayed them. */
const SAME_MS = 2_000;
/** What it takes to know a clock: a backlog, or what waited for a restart, is not equally late for so long. */
const KNOWN = { events: 20, ms: 120_000 } as const;

/** How long after their eot a source's events are received, in milliseconds; negative if its clock is ahead. */
export class Lateness {
  readonly #samples = new Float64Array(SAMPLES);
  #count = 0;
  /** Of the live events of each of the last minutes. */
  readonly #least = new Float64Array(MINUTES).fill(Number.POSITIVE_INFINITY);
  #minute = 0;
  /** The live events: how late the first one was, how many there were, and when the first and the last one came. */
  #live = { firstMs: Number.POSITIVE_INFINITY, events: 0, since: 0, lastAt: 0 };

  /** The events of the request that is being counted: their least lateness, and how many were live. */
  #request = { leastMs: Number.POSITIVE_INFINITY, live: 0 };

  /** Adds an event of a request. */
  add(ms: number): void {
    if (Math.abs(ms) <= DAY_MS) this.#samples[this.#count++ % SAMPLES] = ms;
    const { leastMs, live } = this.#request;
    this.#request = { leastMs: Math.min(ms, leastMs), live: live + Number(ms <= this.#liveUpToMs) };
  }

  /** The lateness up to which an event is live. */
  get #liveUpToMs(): number {
    return this.#live.firstMs + SAME_MS;
  }

  /** @param at when the events that were added since the last call were received. */
  requestEnded(at: number): void {
    const { leastMs: ms, live } = this.#request;
    this.#request = { leastMs: Number.POSITIVE_INFINITY, live: 0 };
    const { firstMs, lastAt } = this.#live;
    const isLater = ms > this.#liveUpToMs;
    if (isLater && at - lastAt <= MINUTES * MINUTE_MS) return;
    if (isLater || ms < firstMs - SAME_MS) this.#begin(at, ms);
    else this.#live.events += live;
    this.#live.lastAt = at;
    const slot = this.#advance(at);
    if (ms < this.#least[slot]!) this.#least[slot] = ms;
  }

  /** Call it when the box's clock was set: what was measured before is no longer comparable. */
  forget(): void {
    this.#count = 0;
    this.#begin(0, Number.POSITIVE_INFINITY);
  }

  /** The events that seemed live were a backlog, or the clock has been set since. */
  #begin(since: number, firstMs: number): void {
    this.#live = { firstMs, events: 1, since, lastAt: since };
    this.#least.fill(Number.POSITIVE_INFINITY);
  }

  /** The lateness that 95 of 100 events do not exceed, in milliseconds; undefined if there was no event. */
  get p95Ms(): number | undefined {
    const sorted = this.#samples.slice(0, Math.min(this.#count, SAMPLES)).sort();
    return sorted[Math.ceil(0.95 * sorted.length) - 1];
  }

  /**
   * The source's clock minus the box's, in milliseconds; undefined if it is not known. Network and detection only add to the
   * lateness, so the least of the last minutes is that of the clock, once enough live events have been as late.
   */
  clockOffsetMs(at: number): number | undefined {
    this.#advance(at);
    const { events, since, lastAt } = this.#live;
    const least = Math.min(...this.#least);
    const isKnown = events >= KNOWN.events && lastAt - since >= KNOWN.ms && Number.isFinite(least);
    return isKnown ? -least : undefined;
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
