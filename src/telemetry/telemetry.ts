import type { CourtEvent } from '../protocol/courtEvent.ts';
import type { RefusedRequest } from '../store/refused/refusedFile.ts';
import type { Refused } from '../store/refused/refusedRequests.ts';
import type { StoredSources } from '../store/storedSources.ts';
import type { Counts } from '../store/write/appender.ts';
import { Refusals } from './refusals.ts';
import { SlidingCounts, WINDOWS } from './slidingCounts.ts';
import { SourceTable } from './sourceTable.ts';

/** Milliseconds by which the wall clock may drift from the monotonic one between two requests; above it, it has been set. */
const CLOCK_SET_MS = 1_000;

export type TelemetryReport = ReturnType<Telemetry['report']>;

/** The two clocks at one moment, in milliseconds. */
interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

const CLOCK = (): Moment => ({ monotonic: performance.now(), wall: Date.now() });

/**
 * What the daemon remembers of its traffic, in memory. The rejected requests survive a restart, and so do the facts that
 * show that a source is missing or faulty: a restart solves nothing.
 */
export class Telemetry {
  /** Since the start of the process: requests that were answered 202, and the counts of their events. */
  readonly totals = { requests: 0, accepted: 0, duplicate: 0, conflict: 0 };
  readonly refusals = new Refusals();
  readonly #sources: SourceTable;
  readonly #requests = new SlidingCounts(...WINDOWS.minute);
  readonly #minute = new SlidingCounts(...WINDOWS.minute);
  readonly #hour = new SlidingCounts(...WINDOWS.hour);
  readonly #day = new SlidingCounts(...WINDOWS.day);
  readonly #clock: () => Moment;
  /** Added to the monotonic clock: both clocks then were alike at the start. */
  readonly #beginMs: number;
  /** By how much the wall clock has been set since. */
  #setMs = 0;

  /** @param rejections @param sources as they were stored. @param clock another one only in tests. */
  constructor(rejections: readonly RefusedRequest[] = [], sources?: StoredSources, clock = CLOCK) {
    const { monotonic, wall } = clock();
    this.#clock = clock;
    this.#beginMs = wall - monotonic;
    this.refusals.reset(rejections, wall, wall);
    this.#sources = new SourceTable(sources, wall, wall);
  }

  /** Call it after the commit. @param received when the events were given to the store. */
  stored(client: string, events: readonly CourtEvent[], counts: Counts, received: Moment): void {
    const { at } = this.#read(received);
    this.#requests.add(at);
    for (const window of [this.#minute, this.#hour, this.#day]) window.add(at, counts.accepted);
    this.#sources.stored(client, events, received.wall, at);
    if (counts.copies !== undefined) this.#sources.repeated(counts.copies, at);
    this.imported(counts);
  }

  /** Counts what was imported, in the totals alone: no camera has sent it now, to be silent or late afterwards. */
  imported({ accepted, duplicates, conflicts }: Counts): void {
    this.totals.requests++;
    this.totals.accepted += accepted;
    this.totals.duplicate += duplicates - conflicts;
    this.totals.conflict += conflicts;
  }

  /** Replaces the rejected requests from before. */
  rejectionsAre(rejections: readonly RefusedRequest[]): void {
    const { at, wall } = this.#read();
    this.refusals.reset(rejections, wall, at);
  }

  /** @returns when that was, by the box's clock. */
  refused(request: Refused): number {
    const now = this.#clock();
    const { at } = this.#read(now);
    this.refusals.add(request, at);
    this.#sources.refused(request, at);
    return now.wall;
  }

  report() {
    const { at, wall } = this.#read();
    const refusals = this.refusals.report(at, (client) => this.#sources.acceptedAt(client));
    const refused = this.refusals.lastMinute(at);
    return {
      rates: {
        events_last_minute: this.#minute.sum(at),
        events_last_hour: this.#hour.sum(at),
        events_last_day: this.#day.sum(at),
        requests_last_minute: this.#requests.sum(at) + refused,
        refused_last_minute: refused,
      },
      sources: this.#sources.report(at, wall, refusals),
      refusals,
      quiet_venue: this.#sources.quiet(at),
    };
  }

  /** Call it once a minute, and at the end. @param write returns whether they are on disk. */
  keepSources(write: (sources: StoredSources) => boolean): void {
    const { at, wall } = this.#read();
    this.#sources.keep(at, wall, write);
  }

  /** @returns a moment of the clock that never jumps, and the same of the clock of the box. */
  #read({ monotonic, wall } = this.#clock()): { readonly at: number; readonly wall: number } {
    const at = monotonic + this.#beginMs;
    if (Math.abs(wall - at - this.#setMs) > CLOCK_SET_MS) {
      this.#setMs = wall - at;
      this.#sources.clockWasSet();
    }
    return { at, wall: at + this.#setMs };
  }
}
