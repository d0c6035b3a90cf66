import { SOURCE_FAULT_MS } from '../base/limits.ts';
import { DAY_MS, isoTime } from '../base/units.ts';
import type { CourtEvent } from '../protocol/courtEvent.ts';
import type { StoredSource } from '../store/storedSources.ts';
import type { Client } from './client.ts';
import { Lateness } from './lateness.ts';
import { Rhythm } from './rhythm.ts';
import { SlidingCounts, WINDOWS } from './slidingCounts.ts';

/** Days on which other sources sent, after which a source is overdue. */
const OVERDUE_DAYS = 7;

/** Names of the faults that are not odd payload fields. */
const [CONFLICT, ODD_TIME] = ['conflict', 'odd_time'];

export type SourceState = 'sending' | 'resting' | 'silent' | 'overdue' | 'unknown';

/** A source as in `courtd status --json`, and at the end what its problems are found by. */
export type SourceReport = ReturnType<Source['report']>;

/** A camera of a court, or another detector there. All times are of a clock that never jumps, as the table has it. */
export class Source extends Rhythm {
  readonly name: string;
  readonly courtId: string;
  /** All sources of the court, this one too. */
  readonly #court: ReadonlyMap<string, Source>;
  client: Client | null = null;
  /** When its last request came, even a rejected one; in this process. */
  seenAt: number;
  /** The numbers of the days on which it was first and last seen. */
  firstDay: number;
  lastDay: number;
  readonly lateness = new Lateness();
  /**
   * Until an hour has passed without such an event: how many, and when the last came. By name: odd payload fields are as many as
   * fields times kinds of values.
   */
  readonly #faults = new Map<string, { readonly events: number; readonly at: number }>();
  /** When an event last came whose eot is within a day of its receipt. */
  #rightTimeAt = Number.NEGATIVE_INFINITY;
  readonly #minute = new SlidingCounts(...WINDOWS.minute);
  readonly #day = new SlidingCounts(...WINDOWS.day);
  readonly #duplicates = new SlidingCounts(...WINDOWS.day);

  /** @param day its number. */
  constructor(name: string, courtId: string, court: ReadonlyMap<string, Source>, now: number, day: number) {
    super();
    this.name = name;
    this.courtId = courtId;
    this.#court = court;
    this.seenAt = now;
    this.firstDay = this.lastDay = day;
  }

  /** Whether one of its events was ever stored, perhaps in an earlier process. */
  get hasEvents(): boolean {
    return Number.isFinite(this.lastAt);
  }

  /** Restores what an earlier daemon knew. @param setMs by how much the wall clock is ahead of `now`. */
  restore({ firstDay, lastDay, lastMs, faults }: StoredSource, client: Client, setMs: number): void {
    this.client = client;
    this.firstDay = firstDay;
    this.lastDay = lastDay;
    // A clock that was ahead must not put it into the future.
    const at = (ms: number) => Math.min(ms - setMs, this.seenAt);
    if (lastMs !== null) this.lastAt = this.#rightTimeAt = at(lastMs);
    for (const [fault, events, atMs] of faults) this.#wrong(fault, at(atMs), events);
    client.acceptedAt = Math.max(client.acceptedAt, this.lastAt);
  }

  /** @returns the state that outlives the daemon. @param setMs as in `restore`. */
  toStore(now: number, setMs: number): StoredSource {
    // A time that is odd only among other events is not, if there are none.
    const isLasting = (name: string) => name !== ODD_TIME || this.#hasRightTimes(now);
    const lasting = [...this.#faults].filter(([name]) => this.#faulty(name, now) > 0 && isLasting(name));
    return {
      court: this.courtId,
      name: this.name,
      client: this.client?.address ?? '',
      isExpected: this.client?.isExpected ?? false,
      firstDay: this.firstDay,
      lastDay: this.lastDay,
      lastMs: this.hasEvents ? Math.round(this.lastAt + setMs) : null,
      faults: lasting.map(([name, { events, at }]) => [name, events, Math.round(at + setMs)]),
    };
  }

  /** Call it for every request of the source, even a rejected one. */
  seen(now: number, day: number): void {
    this.seenAt = now;
    this.lastDay = day;
  }

  /** Counts its events of an accepted request, duplicates included. @param receivedMs by the box's clock. */
  arrived(events: readonly CourtEvent[], client: Client, receivedMs: number, now: number, day: number): void {
    this.client = client;
    this.seen(now, day);
    this.#count(now, events.length);
    const lateMs = events.map(({ eotNs }) => receivedMs - Number(eotNs) / 1e6);
    this.lateness.add(lateMs, now);
    for (const ms of lateMs) {
      if (Math.abs(ms) > DAY_MS) this.#wrong(ODD_TIME, now);
      else this.#rightTimeAt = now;
    }
    for (const field of events.flatMap(({ odd = [] }) => odd)) this.#wrong(field, now);
    this.moment(this.#others, now);
  }

  get #others(): Source[] {
    return [...this.#court.values()].filter((other) => other !== this);
  }

  /** One of its events was there already: it shows that the source sends, but is counted separately. */
  repeated(now: number, isConflict: boolean): void {
    this.#count(now, -1);
    this.#duplicates.add(now);
    if (isConflict) this.#wrong(CONFLICT, now);
  }

  #count(now: number, events: number): void {
    this.#minute.add(now, events);
    this.#day.add(now, events);
  }

  #hasRightTimes(now: number): boolean {
    return now - this.#rightTimeAt <= SOURCE_FAULT_MS;
  }

  #wrong(name: string, at: number, events = 1): void {
    this.#faults.set(name, { events: this.#faulty(name, at) + events, at });
  }

  /** @returns how many events were wrong in this way; 0 if the last one came more than an hour before `now`. */
  #faulty(name: string, now: number): number {
    const { events = 0, at = 0 } = this.#faults.get(name) ?? {};
    return now - at <= SOURCE_FAULT_MS ? events : 0;
  }

  /** @param days on how many days any source sent. */
  #state(now: number, days: number): SourceState {
    if (this.client?.isMissing(now)) return 'silent';
    if (this.isSending(now)) return 'sending';
    const isIdle = this.client?.isIdle(now) ?? false;
    if (!isIdle && this.isMissed(this.#others, now)) return 'silent';
    if (this.#isOverdue(days)) return 'overdue';
    return this.moments === 0 && !isIdle ? 'unknown' : 'resting';
  }

  /** A source that was there on one day only was a test, or has another name now; one that gives signs of life rests. */
  #isOverdue(days: number): boolean {
    if (!this.hasEvents || this.client?.isExpected === true || this.lastDay === this.firstDay) return false;
    return days - this.lastDay > OVERDUE_DAYS;
  }

  /** @param setMs as in `restore`. @param refused its rejected requests in the last day. */
  report(now: number, setMs: number, days: number, refused: number) {
    const known = (count: number) => (this.moments > 0 ? count : null);
    const conflicts = this.#faulty(CONFLICT, now);
    return {
      source: this.name,
      court_id: this.courtId,
      client: this.client?.address ?? null,
      state: this.#state(now, days),
      // By the current clock: it may have been set since.
      last_received_at: this.hasEvents ? isoTime(this.lastAt + setMs) : null,
      events_last_minute: known(this.#minute.sum(now)),
      events_last_day: known(this.#day.sum(now)),
      clock_offset_s: seconds(this.lateness.clockOffsetMs(now)),
      lateness_p95_s: seconds(this.lateness.p95Ms),
      duplicates: known(this.#duplicates.sum(now)),
      // Until an hour has passed without one.
      conflicts: conflicts > 0 ? conflicts : known(0),
      refused_last_day: refused,
      // Seconds since its last event.
      quiet_s: this.hasEvents ? Math.round((now - this.lastAt) / 1_000) : null,
      // Seconds since its client's last request, if the client is expected and missing.
      missing_s: this.client?.isMissing(now) ? Math.round((now - this.client.heardAt) / 1_000) : null,
      // Payload fields that held another kind of value within the last hour, such as "kmh as string".
      odd_fields: [...this.#faults.keys()].filter(
        (name) => name.includes(' ') && this.#faulty(name, now) > 0,
      ),
      // Events within the last hour whose eot is more than a day from their receipt, while that of others is not.
      odd_times: this.#hasRightTimes(now) ? this.#faulty(ODD_TIME, now) : 0,
    };
  }
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms) / 1_000;
}
