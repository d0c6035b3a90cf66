import { SOURCES_KNOWN } from '../base/limits.ts';
import { byName } from '../base/visibleText.ts';
import type { CourtEvent } from '../protocol/event.ts';
import { EVENT_TYPES, type EventType } from '../protocol/eventTypes.ts';
import { Lateness } from './lateness.ts';
import { Pauses, SHORT_PAUSE_MS } from './pauses.ts';
import type { RefusalReport } from './refusalBook.ts';
import { SlidingCounts } from './slidingCounts.ts';
import { patienceMs, playedWithoutMs, type Rhythm, type SourceState, sourceState } from './sourceState.ts';

const DAY_MS = 86_400_000;
/** How long an odd field is told after the last event with it. */
const ODD_MS = 3_600_000;
/** How long a source is remembered after its last request: less where the table is full. */
const FORGOTTEN_MS = { usually: 30 * DAY_MS, ifFull: 3_600_000 } as const;
/** How often the table is searched for sources to forget. */
const SWEEP_MS = { usually: 3_600_000, ifFull: 1_000 } as const;

/** Kinds of daily counts: the types of events come first. */
const DUPLICATES = EVENT_TYPES.length;
const CONFLICTS = DUPLICATES + 1;
const KINDS = CONFLICTS + 1;
const ALL = 0;
const NS_PER_MS = 1e6;
/** Events of a batch whose lateness is sampled, at most. */
const SAMPLES_PER_REQUEST = 16;

/** A source as in `courtd status --json`; the last three members are only for the screen and the problems. */
export interface SourceReport {
  readonly source: string;
  readonly court_id: string;
  readonly client: string | null;
  readonly state: SourceState;
  readonly last_received_at: string | null;
  readonly events_last_minute: number | null;
  readonly events_last_day: number | null;
  readonly by_type: Readonly<Record<string, number>>;
  readonly clock_offset_s: number | null;
  readonly lateness_s: { readonly p50: number | null; readonly p95: number | null };
  readonly duplicates: number | null;
  readonly conflicts: number | null;
  readonly refused_last_day: number | null;
  /** Seconds since its last event; null where there was none. */
  readonly quiet_s: number | null;
  /** Events in each of the last sixty minutes, the oldest first. */
  readonly last_hour: readonly number[];
  /** Known payload fields that held another kind of value within the last hour, such as "kmh as text". */
  readonly odd_fields: readonly string[];
}

/** A source for the metrics; null where a value is not known. */
export interface SourceGauges {
  readonly source: string;
  readonly court_id: string;
  readonly state: SourceState;
  /** Seconds since its last event; null where there was none. */
  readonly quietS: number | null;
  readonly clockOffsetS: number | null;
  /** Events stored since the source became known. */
  readonly events: number;
  /** Events that had an odd payload field, since then. */
  readonly oddEvents: number;
}

class Source implements Rhythm {
  readonly name: string;
  readonly court: Court;
  client: string | null = null;
  moments = 0;
  firstAt = 0;
  lastAt = 0;
  runningSince = 0;
  events = 0;
  oddEvents = 0;
  /** When each odd field last came: there are as many at most as fields times kinds of values. */
  readonly odd = new Map<string, number>();
  /** When a request of it was last seen, even a refused one. */
  seenAt: number;
  readonly knownAt: number;
  readonly pauses: Pauses;
  readonly lateness = new Lateness();
  readonly minute = new SlidingCounts(1, 60, 1_000);
  readonly hour = new SlidingCounts(1, 60, 60_000);
  readonly day = new SlidingCounts(KINDS, 48, 1_800_000);

  constructor(name: string, court: Court, now: number) {
    this.name = name;
    this.court = court;
    this.seenAt = now;
    this.knownAt = now;
    this.pauses = new Pauses(now);
  }

  get usualPauseMs(): number {
    return this.pauses.usualMs;
  }

  heard(client: string, now: number): void {
    this.client = client;
    this.seenAt = now;
    if (this.moments === 0) this.firstAt = this.runningSince = now;
    else if (now - this.lastAt > SHORT_PAUSE_MS) this.#pauseEnded(now);
    this.moments++;
    if (now > this.lastAt) this.lastAt = now;
  }

  /** A pause of the whole court says nothing about this source; for a source that is alone, its own pauses are all there is to go by. */
  #pauseEnded(now: number): void {
    const pauseMs = now - this.lastAt;
    if (pauseMs > patienceMs(this)) this.runningSince = now;
    let ownMs: number | undefined;
    for (const other of this.court.sources.values()) {
      if (other === this || other.moments === 0 || now - other.lastAt > DAY_MS) continue;
      ownMs = Math.max(ownMs ?? 0, playedWithoutMs(this, other));
    }
    this.pauses.ended(ownMs ?? pauseMs, now);
  }

  /** Counts the events of one request from `begin` up to `end`, which are of this source. The lateness of some is sampled. */
  stored(
    client: string,
    events: readonly CourtEvent[],
    begin: number,
    end: number,
    receivedMs: number,
    now: number,
  ): void {
    if (this.lastAt !== now || this.moments === 0) this.heard(client, now);
    this.count(now, end - begin);
    const stride = Math.ceil((end - begin) / SAMPLES_PER_REQUEST);
    let leastMs = Number.POSITIVE_INFINITY;
    for (let i = begin; i < end; i++) {
      const { type, eotNs, odd } = events[i]!;
      this.day.add(now, typeIndex(type), 1);
      if (odd !== undefined) this.#wasOdd(odd, now);
      const lateMs = receivedMs - Number(eotNs) / NS_PER_MS;
      if (lateMs < leastMs) leastMs = lateMs;
      if ((i - begin) % stride === 0) this.lateness.add(lateMs);
    }
    this.lateness.noteLeast(now, leastMs);
  }

  #wasOdd(fields: readonly string[], now: number): void {
    this.oddEvents++;
    for (const field of fields) this.odd.set(field, now);
  }

  count(now: number, events: number): void {
    this.events += events;
    this.minute.add(now, ALL, events);
    this.hour.add(now, ALL, events);
  }

  gauges(now: number): SourceGauges {
    return {
      source: this.name,
      court_id: this.court.name,
      state: this.#state(now),
      quietS: this.moments > 0 ? (now - this.lastAt) / 1_000 : null,
      clockOffsetS: seconds(this.lateness.clockOffsetMs(now)),
      events: this.events,
      oddEvents: this.oddEvents,
    };
  }

  #state(now: number): SourceState {
    const others = [...this.court.sources.values()].filter((other) => other !== this);
    return sourceState(this, others, now);
  }

  /** @param refused requests of it in the last day. */
  report(now: number, nowMs: number, refused: number): SourceReport {
    const { clockOffsetMs, p50Ms, p95Ms } = this.lateness.summary(now);
    const byType = EVENT_TYPES.map((type, kind) => [type, this.day.sum(now, kind)] as const);
    const hasCome = this.moments > 0;
    const known = (count: number) => (hasCome ? count : null);
    return {
      source: this.name,
      court_id: this.court.name,
      client: this.client,
      state: this.#state(now),
      // By the current clock: it may have been set since.
      last_received_at: hasCome ? new Date(nowMs - (now - this.lastAt)).toISOString() : null,
      events_last_minute: known(this.minute.sum(now, ALL)),
      events_last_day: known(byType.reduce((sum, [, count]) => sum + count, 0)),
      by_type: Object.fromEntries(byType.filter(([, count]) => count > 0)),
      clock_offset_s: seconds(clockOffsetMs),
      lateness_s: { p50: seconds(p50Ms), p95: seconds(p95Ms) },
      duplicates: known(this.day.sum(now, DUPLICATES)),
      conflicts: known(this.day.sum(now, CONFLICTS)),
      refused_last_day: refused,
      quiet_s: hasCome ? Math.round((now - this.lastAt) / 1_000) : null,
      last_hour: this.hour.series(now, ALL),
      odd_fields: [...this.odd].filter(([, at]) => now - at <= ODD_MS).map(([field]) => field),
    };
  }
}

class Court {
  readonly name: string;
  readonly sources = new Map<string, Source>();

  constructor(name: string) {
    this.name = name;
  }
}

/** What the daemon has seen of each source since it started. Every stored event is counted here, without any allocation. */
export class SourceTable {
  readonly #courts = new Map<string, Court>();
  #count = 0;
  #sweepAt: number = SWEEP_MS.usually;
  /** The source of the previous event: mostly that of the next one, too. */
  #last: Source | undefined;

  /**
   * Counts the events of an accepted request, duplicates included.
   * @param receivedMs by the box's clock.
   * @param now of the monotonic clock, in milliseconds, as everywhere here.
   */
  stored(client: string, events: readonly CourtEvent[], receivedMs: number, now: number): void {
    if (now >= this.#sweepAt) this.#sweep(now);
    let begin = 0;
    for (let end = 1; end <= events.length; end++) {
      const first = events[begin]!;
      const next = events[end];
      if (next !== undefined && next.source === first.source && next.courtId === first.courtId) continue;
      this.#of(first.source, first.courtId, now)?.stored(client, events, begin, end, receivedMs, now);
      begin = end;
    }
  }

  /** Corrects the counts for duplicates: they show that a source sends, but are counted separately. */
  repeated(copies: readonly CourtEvent[], conflicts: readonly CourtEvent[], now: number): void {
    for (const event of copies) {
      const source = this.#of(event.source, event.courtId, now);
      source?.count(now, -1);
      source?.day.add(now, typeIndex(event.type), -1);
      source?.day.add(now, DUPLICATES, 1);
    }
    for (const event of conflicts) this.#of(event.source, event.courtId, now)?.day.add(now, CONFLICTS, 1);
  }

  /** A request of this source was refused: that makes it known, too. */
  refused(name: string, court: string, client: string, now: number): void {
    if (now >= this.#sweepAt) this.#sweep(now);
    const source = this.#of(name, court, now);
    if (source === undefined) return;
    source.client ??= client;
    source.seenAt = now;
  }

  clockWasSet(): void {
    for (const source of this.#all()) source.lateness.forget();
  }

  /** @returns when clients last had events stored, by their address. */
  lastOfClients(): Map<string, number> {
    const last = new Map<string, number>();
    for (const { client, moments, lastAt } of this.#all()) {
      if (client !== null && moments > 0) last.set(client, Math.max(last.get(client) ?? 0, lastAt));
    }
    return last;
  }

  /**
   * Requests that were refused before their events were read count for the source of their client, where it has only one.
   * @param nowMs by the box's clock.
   * @param refusals of the last day.
   * @returns every source, by court and name.
   */
  report(now: number, nowMs: number, refusals: readonly RefusalReport[]): SourceReport[] {
    const sorted = [...this.#all()].sort(
      (a, b) => byName(a.court.name, b.court.name) || byName(a.name, b.name),
    );
    const ofClient = Map.groupBy(sorted, ({ client }) => client);
    const refused = new Map<Source, number>();
    for (const { client, source, court_id, requests } of refusals) {
      const [only, other] = ofClient.get(client) ?? [];
      const nameless = other === undefined ? only : undefined;
      const found = source === null ? nameless : this.#courts.get(court_id ?? '')?.sources.get(source);
      if (found !== undefined) refused.set(found, (refused.get(found) ?? 0) + requests);
    }
    return sorted.map((source) => source.report(now, nowMs, refused.get(source) ?? 0));
  }

  /** @returns every source, the longest known first. */
  gauges(now: number): SourceGauges[] {
    return [...this.#all()].sort((a, b) => a.knownAt - b.knownAt).map((source) => source.gauges(now));
  }

  *#all(): Generator<Source> {
    for (const court of this.#courts.values()) yield* court.sources.values();
  }

  /** @returns undefined where there is no room for another one. */
  #of(name: string, courtName: string, now: number): Source | undefined {
    const last = this.#last;
    if (last !== undefined && last.name === name && last.court.name === courtName) return last;
    const source = this.#courts.get(courtName)?.sources.get(name) ?? this.#make(name, courtName, now);
    if (source !== undefined) this.#last = source;
    return source;
  }

  #make(name: string, courtName: string, now: number): Source | undefined {
    if (this.#count >= SOURCES_KNOWN) return undefined;
    const court = this.#courts.get(courtName) ?? new Court(courtName);
    this.#courts.set(courtName, court);
    const source = new Source(name, court, now);
    court.sources.set(name, source);
    this.#count++;
    if (this.#count >= SOURCES_KNOWN) this.#sweepAt = now;
    return source;
  }

  #sweep(now: number): void {
    const isFull = this.#count >= SOURCES_KNOWN;
    const forgottenMs = isFull ? FORGOTTEN_MS.ifFull : FORGOTTEN_MS.usually;
    for (const { name, court, seenAt } of this.#all()) {
      if (now - seenAt <= forgottenMs) continue;
      court.sources.delete(name);
      if (court.sources.size === 0) this.#courts.delete(court.name);
      this.#count--;
    }
    this.#last = undefined;
    this.#sweepAt = now + (this.#count >= SOURCES_KNOWN ? SWEEP_MS.ifFull : SWEEP_MS.usually);
  }
}

/** @returns the index in EVENT_TYPES of the type of a valid event. */
export function typeIndex(type: EventType): number {
  return EVENT_TYPES.indexOf(type);
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms) / 1_000;
}
