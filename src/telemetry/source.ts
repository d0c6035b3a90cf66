import { SOURCE_FAULT_MS } from '../base/limits.ts';
import { DAY_MS } from '../base/units.ts';
import type { CourtEvent } from '../protocol/event.ts';
import { EVENT_TYPES, type EventType } from '../protocol/eventTypes.ts';
import type { StoredSource } from '../store/sources/storedSources.ts';
import type { Conflict } from '../store/write/appender.ts';
import type { Client } from './client.ts';
import { Lateness } from './lateness.ts';
import { LongPauses, Pauses, SHORT_PAUSE_MS } from './pauses.ts';
import { SlidingCounts } from './slidingCounts.ts';
import { patienceMs, playedWithoutMs, type Rhythm, type SourceState, sourceState } from './sourceState.ts';

/** Cameras with which a source shares ids: more than that tell nothing new. */
const OTHERS_MAX = 4;

/** Kinds of daily counts: the types of events come first. */
const DUPLICATES = EVENT_TYPES.length;
const CONFLICTS = DUPLICATES + 1;
const KINDS = CONFLICTS + 1;
const ALL = 0;
/** Events of a batch whose lateness is sampled, at most. */
const SAMPLES_PER_REQUEST = 16;

/** A source as in `courtd status --json`; the members of SourceFacts are only for the screen and the problems. */
export interface SourceReport extends SourceFacts {
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
}

export interface SourceFacts {
  /** Seconds since its last event, or since its client was last heard where that is what is missed; null where neither is known. */
  readonly quiet_s: number | null;
  /** Whether it is silent because nothing comes from its client, not even an empty array. */
  readonly is_missing: boolean;
  /** Seconds since its first event, without those in which no daemon ran; null where none was stored. */
  readonly known_s: number | null;
  /** Events in each of the last sixty minutes, the oldest first. */
  readonly last_hour: readonly number[];
  /** Known payload fields that held another kind of value within the last hour, such as "kmh as text". */
  readonly odd_fields: readonly string[];
  /** With whose events those of its events were in conflict that came until an hour has passed without one. */
  readonly in_conflict: readonly ConflictReport[];
}

interface ConflictReport {
  /** The camera whose events are stored under the same ids; null: itself. */
  readonly other: { readonly source: string; readonly court_id: string } | null;
  readonly events: number;
}

/** A source for the metrics; null where a value is not known. */
export interface SourceGauges {
  readonly source: string;
  readonly court_id: string;
  readonly state: SourceState;
  /** Seconds since its last event; null where there was none. */
  readonly quietS: number | null;
  readonly clockOffsetS: number | null;
  /** Events stored since the daemon started. */
  readonly events: number;
  /** Events that had an odd payload field, since then. */
  readonly oddEvents: number;
}

export class Court {
  readonly name: string;
  readonly sources = new Map<string, Source>();

  constructor(name: string) {
    this.name = name;
  }
}

/** A camera of a court, or whatever else detects events there. All times are of the monotonic clock, as the table has it. */
export class Source implements Rhythm {
  readonly name: string;
  readonly court: Court;
  client: Client | null = null;
  moments = 0;
  firstAt = 0;
  lastAt = 0;
  runningSince = 0;
  /** When a request of it was last seen, even a refused one. */
  seenAt: number;
  knownAt: number;
  /** Whether an event of it was ever stored, under an earlier daemon perhaps. */
  isKept = false;
  /** Whether there is something of it that the database does not have. */
  isChanged = false;
  readonly lateness = new Lateness();
  #longPauses = new LongPauses();
  readonly #pauses: Pauses;
  #events = 0;
  #oddEvents = 0;
  /** When each odd field last came: there are as many at most as fields times kinds of values. */
  readonly #odd = new Map<string, number>();
  readonly #conflicts = new Map<string, ConflictReport & { readonly at: number }>();
  readonly #minute = new SlidingCounts(1, 60, 1_000);
  readonly #hour = new SlidingCounts(1, 60, 60_000);
  readonly #day = new SlidingCounts(KINDS, 48, 1_800_000);

  constructor(name: string, court: Court, now: number) {
    this.name = name;
    this.court = court;
    this.seenAt = now;
    this.knownAt = now;
    this.#pauses = new Pauses(now);
  }

  get usualPauseMs(): number {
    return this.#pauses.usualMs;
  }

  /** What an earlier daemon knew. */
  restore({ knownAt, heardAt, pauses }: StoredSource, client: Client): void {
    this.client = client;
    this.knownAt = knownAt;
    this.seenAt = heardAt;
    this.isKept = true;
    this.#longPauses = new LongPauses(pauses);
  }

  /** @returns what is to outlive the daemon. */
  toStore(): StoredSource {
    return {
      court: this.court.name,
      name: this.name,
      client: this.client?.address ?? '',
      isExpected: this.client?.isExpected ?? false,
      knownAt: Math.floor(this.knownAt),
      heardAt: Math.floor(this.seenAt),
      pauses: this.#longPauses.ended.map(([at, ms]) => [Math.floor(at), Math.floor(ms)]),
    };
  }

  /** Call it for every request of it, even a refused one. */
  seen(now: number): void {
    this.#longPauses.add(now - this.seenAt, now);
    this.seenAt = now;
    this.isChanged = true;
  }

  #heard(client: Client, now: number): void {
    this.client = client;
    this.isKept = true;
    this.seen(now);
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
    this.#pauses.ended(ownMs ?? pauseMs, now);
  }

  /** Counts the events of one request from `begin` up to `end`, which are of this source. The lateness of some is sampled. */
  stored(
    client: Client,
    events: readonly CourtEvent[],
    begin: number,
    end: number,
    receivedMs: number,
    now: number,
  ): void {
    if (this.lastAt !== now || this.moments === 0) this.#heard(client, now);
    this.#count(now, end - begin);
    const stride = Math.ceil((end - begin) / SAMPLES_PER_REQUEST);
    const { liveUpToMs } = this.lateness;
    let leastMs = Number.POSITIVE_INFINITY;
    let live = 0;
    for (let i = begin; i < end; i++) {
      const { type, eotNs, odd } = events[i]!;
      this.#day.add(now, typeIndex(type), 1);
      if (odd !== undefined) this.#wasOdd(odd, now);
      const lateMs = receivedMs - Number(eotNs) / 1e6;
      if (lateMs < leastMs) leastMs = lateMs;
      if (lateMs <= liveUpToMs) live++;
      if ((i - begin) % stride === 0) this.lateness.add(lateMs);
    }
    this.lateness.noteLeast(now, leastMs, live);
  }

  /** Of those that were counted as stored, this one was there already: it shows that the source sends, but is counted separately. */
  repeated(type: EventType, now: number): void {
    this.#count(now, -1);
    this.#day.add(now, typeIndex(type), -1);
    this.#day.add(now, DUPLICATES, 1);
  }

  wasInConflict({ other }: Conflict, now: number): void {
    this.#day.add(now, CONFLICTS, 1);
    const key = other === undefined ? '' : `${other.courtId}\n${other.source}`;
    const before = this.#conflicts.get(key);
    if (before === undefined && this.#conflicts.size >= OTHERS_MAX) return;
    const events = before !== undefined && now - before.at <= SOURCE_FAULT_MS ? before.events + 1 : 1;
    const camera = other === undefined ? null : { source: other.source, court_id: other.courtId };
    this.#conflicts.set(key, { other: camera, events, at: now });
  }

  #wasOdd(fields: readonly string[], now: number): void {
    this.#oddEvents++;
    for (const field of fields) this.#odd.set(field, now);
  }

  #count(now: number, events: number): void {
    this.#events += events;
    this.#minute.add(now, ALL, events);
    this.#hour.add(now, ALL, events);
  }

  gauges(now: number): SourceGauges {
    return {
      source: this.name,
      court_id: this.court.name,
      state: this.state(now),
      quietS: this.moments > 0 ? (now - this.lastAt) / 1_000 : null,
      clockOffsetS: seconds(this.lateness.clockOffsetMs(now)),
      events: this.#events,
      oddEvents: this.#oddEvents,
    };
  }

  state(now: number): SourceState {
    const others = [...this.court.sources.values()].filter((other) => other !== this);
    const isMissing = this.client?.isMissing(now) ?? false;
    const isIdle = this.client?.isIdle(now) ?? false;
    return sourceState(this, others, { isMissing, isIdle, isOverdue: this.#isOverdue(now) }, now);
  }

  /** One that was there for less than a day was a test, or has another name now; one that gives signs of life rests. */
  #isOverdue(now: number): boolean {
    if (!this.isKept || this.client?.isExpected === true || this.seenAt - this.knownAt < DAY_MS) return false;
    return now - this.seenAt > Math.max(DAY_MS, this.#longPauses.longestMs);
  }

  /** @param refused requests of it in the last day. */
  report(now: number, nowMs: number, refused: number): SourceReport {
    const { clockOffsetMs, p50Ms, p95Ms } = this.lateness.summary(now);
    const byType = EVENT_TYPES.map((type, kind) => [type, this.#day.sum(now, kind)] as const);
    const hasCome = this.moments > 0;
    const known = (count: number) => (hasCome ? count : null);
    const state = this.state(now);
    return {
      source: this.name,
      court_id: this.court.name,
      client: this.client?.address ?? null,
      state,
      // By the current clock: it may have been set since.
      last_received_at: hasCome ? new Date(nowMs - (now - this.lastAt)).toISOString() : null,
      events_last_minute: known(this.#minute.sum(now, ALL)),
      events_last_day: known(byType.reduce((sum, [, count]) => sum + count, 0)),
      by_type: Object.fromEntries(byType.filter(([, count]) => count > 0)),
      clock_offset_s: seconds(clockOffsetMs),
      lateness_s: { p50: seconds(p50Ms), p95: seconds(p95Ms) },
      duplicates: known(this.#day.sum(now, DUPLICATES)),
      conflicts: known(this.#day.sum(now, CONFLICTS)),
      refused_last_day: refused,
      ...this.#facts(state, now),
    };
  }

  #facts(state: SourceState, now: number): SourceFacts {
    const isMissing = this.client?.isMissing(now) ?? false;
    const sinceAt = isMissing ? this.client!.heardAt : state === 'overdue' ? this.seenAt : this.lastAt;
    const isKnown = isMissing || state === 'overdue' || this.moments > 0;
    return {
      quiet_s: isKnown ? Math.round((now - sinceAt) / 1_000) : null,
      is_missing: isMissing,
      known_s: this.isKept ? Math.round((now - this.knownAt) / 1_000) : null,
      last_hour: this.#hour.series(now, ALL),
      odd_fields: [...this.#odd].filter(([, at]) => now - at <= SOURCE_FAULT_MS).map(([field]) => field),
      in_conflict: [...this.#conflicts.values()]
        .filter(({ at }) => now - at <= SOURCE_FAULT_MS)
        .map(({ other, events }) => ({ other, events })),
    };
  }
}

/** @returns the index in EVENT_TYPES of the type of a valid event. */
export function typeIndex(type: EventType): number {
  return EVENT_TYPES.indexOf(type);
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms) / 1_000;
}
