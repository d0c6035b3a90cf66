import { DAY_MS } from '../base/units.ts';
import { SlidingCounts } from './slidingCounts.ts';

/** Events whose lateness is remembered: the quantile is of these. */
const SAMPLES = 256;
/** The clock offset is taken from the least lateness of this many minutes. */
const MINUTES = 5;
const MINUTE_MS = 60_000;
/** Events whose lateness differs by less are live: nothing but the network and the detection has delayed them. */
const SAME_MS = 2_000;
/** From here on a clock is known: a backlog, or events that waited for a restart, are not equally late for so long. */
const KNOWN = { events: 20, ms: 120_000 } as const;

/** How long after their eot a source's events are received, in milliseconds; negative if its clock is ahead. */
export class Lateness {
  readonly #samples = new Float64Array(SAMPLES);
  #count = 0;
  /** The least lateness of the live events of each of the last minutes. */
  readonly #least = new SlidingCounts(MINUTES, MINUTE_MS);
  /** The live events: how late the first one was, how many there were, and when the first and the last one came. */
  #live = { firstMs: Number.POSITIVE_INFINITY, events: 0, since: 0, lastAt: 0 };

  /** @param lateMs of the events of a request. @param at when they were received. */
  add(lateMs: readonly number[], at: number): void {
    for (const ms of lateMs) if (Math.abs(ms) <= DAY_MS) this.#samples[this.#count++ % SAMPLES] = ms;
    const leastMs = Math.min(...lateMs);
    const { firstMs, lastAt } = this.#live;
    const isLater = leastMs > firstMs + SAME_MS;
    if (isLater && at - lastAt <= MINUTES * MINUTE_MS) return;
    if (isLater || leastMs < firstMs - SAME_MS) this.#begin(at, leastMs);
    else this.#live.events += lateMs.filter((ms) => ms <= firstMs + SAME_MS).length;
    this.#live.lastAt = at;
    this.#least.addLeast(at, leastMs);
  }

  /** Call it when the box's clock was set: what was measured before is no longer comparable. */
  forget(): void {
    this.#count = 0;
    this.#begin(0, Number.POSITIVE_INFINITY);
  }

  /** The events that seemed live were a backlog, or the clock has been set since. */
  #begin(since: number, firstMs: number): void {
    this.#live = { firstMs, events: 1, since, lastAt: since };
    this.#least.clear();
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
    const { events, since, lastAt } = this.#live;
    const least = Math.min(...this.#least.values(at));
    const isKnown = events >= KNOWN.events && lastAt - since >= KNOWN.ms && Number.isFinite(least);
    return isKnown ? -least : undefined;
  }
}
