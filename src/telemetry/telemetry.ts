import type { LogFields, Problem } from '../protocol/errors.ts';
import type { CourtEvent } from '../protocol/event.ts';
import { type Counts, copiesOf } from '../store/write/appender.ts';
import { OwnProbes } from './ownProbes.ts';
import { type RefusalReport, RefusalTable } from './refusalTable.ts';
import { RejectionLog } from './rejectionLog.ts';
import { SlidingCounts } from './slidingCounts.ts';
import { type SourceGauges, type SourceReport, SourceTable } from './sourceTable.ts';
import { Totals } from './totals.ts';

/** By how much the two clocks may drift apart between two requests before the box's was set. */
const CLOCK_SET_MS = 1_000;

const [EVENTS, REQUESTS, REFUSED] = [0, 1, 2];
const RATES = 3;

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
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** What the daemon remembers of its traffic, in memory. Only the rejections outlive the process. */
export class Telemetry {
  /** Since the start of the process. */
  readonly totals = new Totals();
  readonly rejections: RejectionLog;
  readonly probes = new OwnProbes();
  readonly #sources = new SourceTable();
  readonly #refusals = new RefusalTable();
  readonly #minute = new SlidingCounts(RATES, 60, 1_000);
  readonly #hour = new SlidingCounts(RATES, 60, 60_000);
  readonly #day = new SlidingCounts(RATES, 48, 1_800_000);
  /** What the wall clock would say at the monotonic clock's zero. */
  #epochMs: number;

  constructor({ monotonic, wall }: Moment = now(), rejections = new RejectionLog()) {
    this.rejections = rejections;
    this.#epochMs = wall - monotonic;
  }

  /** Call it after the commit. @param received when the store was given them. */
  stored(client: string, events: readonly CourtEvent[], counts: Counts, received: Moment): void {
    const { monotonic: at, wall: receivedMs } = received;
    this.#watchClock(receivedMs - at);
    this.#count(EVENTS!, counts.accepted, at);
    this.#count(REQUESTS!, 1, at);
    this.#sources.stored(client, events, receivedMs, at);
    const copies = copiesOf(counts);
    if (copies !== undefined) this.#sources.repeated(copies.all, copies.inConflict, at);
    this.totals.accepted(events, copies);
  }

  /** @param camera which one it was, where that is known. */
  refused(client: string, problem: Problem, camera: LogFields = {}, at = performance.now()): void {
    this.#count(REQUESTS!, 1, at);
    this.#count(REFUSED!, 1, at);
    const { code, message: error, logFields } = problem;
    this.totals.requests[code]++;
    const { source = null, court_id = null } = { ...camera, ...logFields };
    this.#refusals.add({ code, client, source, court_id, error }, at);
    if (source !== null && court_id !== null) this.#sources.refused(source, court_id, client, at);
  }

  report({ monotonic, wall }: Moment = now()): TelemetryReport {
    this.#watchClock(wall - monotonic);
    const last = (counts: SlidingCounts, kind: number | undefined) => counts.sum(monotonic, kind!);
    const storedAt = (client: string) => this.#sources.lastOfClient(client);
    const refusals = this.#refusals.report(monotonic, wall, storedAt);
    return {
      rates: {
        events_last_minute: last(this.#minute, EVENTS),
        events_last_hour: last(this.#hour, EVENTS),
        events_last_day: last(this.#day, EVENTS),
        requests_last_minute: last(this.#minute, REQUESTS),
        refused_last_minute: last(this.#minute, REFUSED),
      },
      sources: withNameless(this.#sources.report(monotonic, wall), refusals),
      refusals,
    };
  }

  /** @param at of the monotonic clock. */
  sourceGauges(at = performance.now()): SourceGauges[] {
    return this.#sources.gauges(at);
  }

  #count(kind: number, count: number, at: number): void {
    this.#minute.add(at, kind, count);
    this.#hour.add(at, kind, count);
    this.#day.add(at, kind, count);
  }

  #watchClock(epochMs: number): void {
    if (Math.abs(epochMs - this.#epochMs) <= CLOCK_SET_MS) return;
    this.#epochMs = epochMs;
    this.#sources.clockWasSet();
  }
}

/** What was refused before its events were read is that of the one source that its client is known for. */
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

function now(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}
