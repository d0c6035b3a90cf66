import type { CourtEvent } from '../protocol/event.ts';
import type { Counts } from '../store/write/appender.ts';
import { RefusalBook, type RefusalReport, type RefusedRequest } from './refusalBook.ts';
import { SlidingCounts } from './slidingCounts.ts';
import { type SourceGauges, type SourceReport, SourceTable } from './sourceTable.ts';
import { Totals } from './totals.ts';

/** Milliseconds by which the wall clock may drift from the monotonic one between two requests; above it, it has been set. */
const CLOCK_SET_MS = 1_000;

/** What is counted of what was stored: in the last hour and day only events. */
const [EVENTS, REQUESTS] = [0, 1] as const;

/** As in `courtd status --json`. */
export interface RateReport {
  readonly events_last_minute: number;
  readonly events_last_hour: number;
  readonly events_last_day: number;
  readonly requests_last_minute: number;
  readonly refused_last_minute: number;
}

export interface TelemetryReport {
  readonly rates: RateReport;
  readonly sources: readonly SourceReport[];
  readonly refusals: readonly RefusalReport[];
}

/** The two clocks at one moment, in milliseconds. */
interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** What the daemon remembers of its traffic, in memory. Only the refused requests that are kept outlive the process. */
export class Telemetry {
  /** Since the start of the process. */
  readonly totals = new Totals();
  readonly refusals: RefusalBook;
  readonly #sources = new SourceTable();
  readonly #minute = new SlidingCounts(2, 60, 1_000);
  readonly #hour = new SlidingCounts(1, 60, 60_000);
  readonly #day = new SlidingCounts(1, 48, 1_800_000);
  /** What the wall clock would say at the monotonic clock's zero. */
  #epochMs = Date.now() - performance.now();

  constructor(refusals = new RefusalBook()) {
    this.refusals = refusals;
  }

  /** Call it after the commit. @param received when the events were given to the store. */
  stored(client: string, events: readonly CourtEvent[], counts: Counts, received: Moment): void {
    const { monotonic: at, wall: receivedMs } = received;
    this.#watchClock(receivedMs - at);
    this.#minute.add(at, REQUESTS, 1);
    this.#minute.add(at, EVENTS, counts.accepted);
    this.#hour.add(at, EVENTS, counts.accepted);
    this.#day.add(at, EVENTS, counts.accepted);
    this.#sources.stored(client, events, receivedMs, at);
    const { copies } = counts;
    if (copies !== undefined) this.#sources.repeated(copies.all, copies.inConflict, at);
    this.totals.accepted(events, copies);
  }

  /** Counts what was imported, in the totals alone: no camera has sent it now, to be silent or late afterwards. */
  imported(events: readonly CourtEvent[], { copies }: Counts): void {
    this.totals.accepted(events, copies);
  }

  refused(request: RefusedRequest): void {
    const at = performance.now();
    this.refusals.add(request, Date.now(), at);
    const { source, court_id } = request.camera;
    if (source !== undefined && court_id !== undefined)
      this.#sources.refused(source, court_id, request.client, at);
  }

  report(): TelemetryReport {
    const [monotonic, wall] = [performance.now(), Date.now()];
    this.#watchClock(wall - monotonic);
    const refusals = this.refusals.report(monotonic, wall, this.#sources.lastOfClients());
    const refused = this.refusals.lastMinute(monotonic);
    return {
      rates: {
        events_last_minute: this.#minute.sum(monotonic, EVENTS),
        events_last_hour: this.#hour.sum(monotonic, EVENTS),
        events_last_day: this.#day.sum(monotonic, EVENTS),
        requests_last_minute: this.#minute.sum(monotonic, REQUESTS) + refused,
        refused_last_minute: refused,
      },
      sources: this.#sources.report(monotonic, wall, refusals),
      refusals,
    };
  }

  sourceGauges(): SourceGauges[] {
    return this.#sources.gauges(performance.now());
  }

  #watchClock(epochMs: number): void {
    if (Math.abs(epochMs - this.#epochMs) <= CLOCK_SET_MS) return;
    this.#epochMs = epochMs;
    this.#sources.clockWasSet();
  }
}
