import type { LogFields, LoggedProblem } from '../protocol/errors.ts';
import type { CourtEvent } from '../protocol/event.ts';
import type { Counts } from '../store/write/appender.ts';
import { type RefusalReport, RefusalTable } from './refusalTable.ts';
import { RejectionLog } from './rejectionLog.ts';
import { SlidingCounts } from './slidingCounts.ts';
import { type SourceGauges, type SourceReport, SourceTable } from './sourceTable.ts';
import { Totals } from './totals.ts';

/** Milliseconds by which the wall clock may drift from the monotonic one between two requests; above it, it has been set. */
const CLOCK_SET_MS = 1_000;

/** What is counted: in the last minute all of it, in the last hour and day only events. */
const [EVENTS, REQUESTS, REFUSED] = [0, 1, 2] as const;

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

/** What the daemon remembers of its traffic, in memory. Only the rejections outlive the process. */
export class Telemetry {
  /** Since the start of the process. */
  readonly totals = new Totals();
  readonly rejections: RejectionLog;
  readonly #sources = new SourceTable();
  readonly #refusals = new RefusalTable();
  readonly #minute = new SlidingCounts(3, 60, 1_000);
  readonly #hour = new SlidingCounts(1, 60, 60_000);
  readonly #day = new SlidingCounts(1, 48, 1_800_000);
  /** What the wall clock would say at the monotonic clock's zero. */
  #epochMs = Date.now() - performance.now();

  constructor(rejections = new RejectionLog()) {
    this.rejections = rejections;
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

  /** @param camera the request's source and court, where they are known. */
  refused(client: string, problem: LoggedProblem, camera: LogFields = {}): void {
    const at = performance.now();
    this.#minute.add(at, REQUESTS, 1);
    this.#minute.add(at, REFUSED, 1);
    const { code, message: error, logFields } = problem;
    this.totals.requests[code]++;
    const { source = null, court_id = null } = { ...camera, ...logFields };
    this.#refusals.add({ code, client, source, court_id, error }, at);
    if (source !== null && court_id !== null) this.#sources.refused(source, court_id, client, at);
  }

  report(): TelemetryReport {
    const [monotonic, wall] = [performance.now(), Date.now()];
    this.#watchClock(wall - monotonic);
    const storedAt = (client: string) => this.#sources.lastOfClient(client);
    const refusals = this.#refusals.report(monotonic, wall, storedAt);
    return {
      rates: {
        events_last_minute: this.#minute.sum(monotonic, EVENTS),
        events_last_hour: this.#hour.sum(monotonic, EVENTS),
        events_last_day: this.#day.sum(monotonic, EVENTS),
        requests_last_minute: this.#minute.sum(monotonic, REQUESTS),
        refused_last_minute: this.#minute.sum(monotonic, REFUSED),
      },
      sources: withNameless(this.#sources.report(monotonic, wall), refusals),
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

/** Requests that were refused before their events were read count for the source of their client, where it has only one. */
function withNameless(sources: SourceReport[], refusals: readonly RefusalReport[]): SourceReport[] {
  for (const { client, source, requests } of refusals) {
    if (source !== null) continue;
    const at = sources.findIndex((one) => one.client === client);
    const isOnly = at >= 0 && at === sources.findLastIndex((one) => one.client === client);
    if (!isOnly) continue;
    const found = sources[at]!;
    sources[at] = { ...found, refused_last_day: (found.refused_last_day ?? 0) + requests };
  }
  return sources;
}
