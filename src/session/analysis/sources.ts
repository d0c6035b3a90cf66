import { Bins, LOGARITHMIC } from '../../base/bins.ts';

/** At most this many sources get a line each; the rest share one. */
export const SOURCES_MAX = 100;
export const OTHER_SOURCES = 'other sources';

interface ArrivedEvent {
  readonly revision: number;
  readonly eotMs: number;
  readonly receivedMs: number;
}

/** What a technician wants to know about one camera. */
export class SourceTally {
  events = 0;
  revisions = 0;
  firstMs = 0;
  lastMs = 0;
  longestPauseMs = 0;
  /** When its first and its last event were received. */
  firstReceivedMs = Infinity;
  lastReceivedMs = -Infinity;
  /** How long after its eot an event was received, in milliseconds. */
  readonly lateness = new Bins(LOGARITHMIC);
  readonly earliest = new Earliest();

  /** @param clockOffsetMs what its clock is taken to be ahead: its times are corrected by it, and its lateness is not. */
  add({ eotMs, receivedMs, revision }: ArrivedEvent, clockOffsetMs: number): void {
    const atMs = eotMs - clockOffsetMs;
    if (this.events++ === 0) this.firstMs = atMs;
    else this.longestPauseMs = Math.max(this.longestPauseMs, atMs - this.lastMs);
    if (revision > 0) this.revisions++;
    this.lastMs = atMs;
    this.firstReceivedMs = Math.min(this.firstReceivedMs, receivedMs);
    this.lastReceivedMs = Math.max(this.lastReceivedMs, receivedMs);
    this.lateness.add(receivedMs - eotMs);
    this.earliest.add(receivedMs - eotMs);
  }
}

/** Latenesses that differ by less may be of the same clock, as for the daemon (telemetry/lateness.ts). */
export const SAME_MS = 2_000;
/** Side of the bins in which the events about as early as the earliest are counted. */
const BIN_MS = 250;

/** The least lateness of a source, and how many events were about as early: one alone is a fault of its eot, not of the clock. */
class Earliest {
  leastMs = Infinity;
  readonly #counts = new Map<number, number>();

  add(lateMs: number): void {
    if (lateMs > this.leastMs + SAME_MS) return;
    const bin = Math.floor(lateMs / BIN_MS);
    this.#counts.set(bin, (this.#counts.get(bin) ?? 0) + 1);
    if (lateMs >= this.leastMs) return;
    this.leastMs = lateMs;
    // Only what is still as early is kept: a few bins.
    for (const other of this.#counts.keys()) {
      if (other * BIN_MS > lateMs + SAME_MS) this.#counts.delete(other);
    }
  }

  /** Of the events that were received at most two seconds later after their eot than the earliest. */
  get count(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }
}
