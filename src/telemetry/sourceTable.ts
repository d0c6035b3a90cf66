import { SOURCES_KNOWN } from '../base/limits.ts';
import { DAY_MS } from '../base/units.ts';
import { byName } from '../base/visibleText.ts';
import type { CourtEvent } from '../protocol/event.ts';
import type { SourceChanges, StoredSources } from '../store/storedSources.ts';
import type { Copies } from '../store/write/appender.ts';
import { Client } from './client.ts';
import type { RefusalReport, Refused } from './refusals.ts';
import { Court, Source, type SourceReport } from './source.ts';

/** Days on which other sources sent, after which a source is forgotten; and the milliseconds if the table is full. */
const FORGOTTEN = { days: 30, ifFullMs: 3_600_000 } as const;
/** How long a client is remembered. */
const CLIENT_MS = 30 * DAY_MS;
/** How often the table is searched for sources to forget. */
const SWEEP_MS = { usually: 3_600_000, ifFull: 1_000 } as const;

/** How long a venue may be quiet after several courts stopped at once: within so long of each other, after an hour of play. */
const QUIET = { ms: 300_000, togetherMs: 10_000, playMs: 3_600_000 } as const;

/** A venue that has stopped as a whole. */
export interface QuietVenue {
  readonly for_s: number;
  /** How many sources were sending. */
  readonly sources: number;
}

/**
 * What the daemon has seen of each source, and in part what the daemons before it have. Every stored event is counted here, without
 * any allocation.
 */
export class SourceTable {
  readonly #courts = new Map<string, Court>();
  /** With a valid token, by address; more than SOURCES_KNOWN are not remembered beyond their request. */
  readonly #clients = new Map<string, Client>();
  #count = 0;
  #sweepAt: number;
  /** The source of the previous event: mostly that of the next one, too. */
  #last: Source | undefined;
  #gone: SourceChanges['gone'][number][] = [];
  /** On how many days any source sent, and which of the wall clock's days is the last one. */
  #days: number;
  #day: number | undefined;

  /**
   * @param before as it was stored. An expected client has its full time from `now` on, since requests to a stopped daemon are not counted.
   * @param now of the monotonic clock. @param nowMs the same moment by the wall clock.
   */
  constructor({ days, sources }: StoredSources = { days: 0, sources: [] }, now = 0, nowMs = 0) {
    this.#sweepAt = now + SWEEP_MS.usually;
    this.#days = days;
    for (const stored of sources) {
      const client = this.#clientAt(stored.client, now);
      if (stored.isExpected) client.isExpected = true;
      this.#make(stored.name, stored.court, now)?.restore(stored, client, nowMs - now);
      if (stored.lastMs !== null) this.#day = Math.max(this.#day ?? 0, dayOf(stored.lastMs));
    }
  }

  /**
   * Counts the events of an accepted request, duplicates included. Without any, it is a sign of life of its client.
   * @param receivedMs by the box's clock.
   * @param now of the monotonic clock, in milliseconds, as everywhere here.
   */
  stored(address: string, events: readonly CourtEvent[], receivedMs: number, now: number): void {
    if (now >= this.#sweepAt) this.#sweep(now);
    const client = this.#clientAt(address, now);
    if (client.accepted(events.length === 0, now)) {
      for (const source of this.#all()) source.isChanged ||= source.client === client;
    }
    if (events.length > 0 && dayOf(receivedMs) !== this.#day) {
      this.#day = dayOf(receivedMs);
      this.#days++;
    }
    let begin = 0;
    for (let end = 1; end <= events.length; end++) {
      const first = events[begin]!;
      const next = events[end];
      if (next !== undefined && next.source === first.source && next.courtId === first.courtId) continue;
      this.#of(first.source, first.courtId, now)?.stored(
        client,
        events,
        begin,
        end,
        receivedMs,
        now,
        this.#days,
      );
      begin = end;
    }
  }

  /** Corrects the counts for duplicates. */
  repeated({ all, inConflict }: Copies, now: number): void {
    for (const { source, courtId } of all) this.#of(source, courtId, now)?.repeated(now);
    for (const { event } of inConflict) this.#of(event.source, event.courtId, now)?.wasInConflict(now);
  }

  /** A rejected client is alive, and a rejected camera is known. */
  refused({ client: address, camera }: Refused, now: number): void {
    if (now >= this.#sweepAt) this.#sweep(now);
    const known = this.#clients.get(address);
    if (known !== undefined) known.heardAt = now;
    const { source: name, court_id } = camera;
    if (name === undefined || court_id === undefined) return;
    const source = this.#of(name, court_id, now);
    if (source === undefined) return;
    source.client ??= this.#clientAt(address, now);
    source.seen(now, this.#days);
  }

  clockWasSet(): void {
    for (const source of this.#all()) source.lateness.forget();
  }

  /** @returns when this address last got a 202, by the monotonic clock. */
  acceptedAt(address: string): number {
    return this.#clients.get(address)?.acceptedAt ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * Requests that were refused before their events were read count for the source of their client, if it has only one.
   * @param nowMs by the box's clock.
   * @param refusals of the last day.
   * @returns every source, by court and name.
   */
  report(now: number, nowMs: number, refusals: readonly RefusalReport[]): SourceReport[] {
    const sorted = [...this.#all()].sort(
      (a, b) => byName(a.court.name, b.court.name) || byName(a.name, b.name),
    );
    const ofClient = Map.groupBy(sorted, ({ client }) => client?.address);
    const refused = new Map<Source, number>();
    for (const { client, source, court_id, requests } of refusals) {
      const [only, other] = ofClient.get(client) ?? [];
      const nameless = other === undefined ? only : undefined;
      const found = source === null ? nameless : this.#courts.get(court_id ?? '')?.sources.get(source);
      if (found !== undefined) refused.set(found, (refused.get(found) ?? 0) + requests);
    }
    return sorted.map((source) => source.report(now, nowMs, this.#days, refused.get(source) ?? 0));
  }

  /**
   * @returns undefined unless nothing comes from anybody since all courts that were played on have stopped at once, as a dead switch
   * makes them. An evening ends otherwise: one court after the other. With only one court nobody can know.
   */
  quiet(now: number): QuietVenue | undefined {
    for (const { heardAt } of this.#clients.values()) if (now - heardAt <= QUIET.ms) return undefined;
    const ends = [...this.#courts.values()].map(({ sources }) => lastOf(sources.values()));
    const end = Math.max(...ends);
    const played = ends.filter((at) => end - at <= QUIET.playMs);
    if (played.length < 2 || played.some((at) => end - at > QUIET.togetherMs)) return undefined;
    const sent = [...this.#all()].filter(
      ({ moments, lastAt }) => moments > 0 && end - lastAt <= QUIET.playMs,
    );
    return { for_s: Math.round((now - end) / 1_000), sources: sent.length };
  }

  /**
   * Call it once a minute: gives what has changed to `write`.
   * @param write returns whether it is on disk: else it is tried again the next time.
   * @param nowMs the same moment as `now`, by the wall clock.
   */
  keep(now: number, nowMs: number, write: (changes: SourceChanges) => boolean): void {
    const changed = [...this.#all()].filter(({ hasEvents, isChanged }) => hasEvents && isChanged);
    if (changed.length + this.#gone.length === 0) return;
    const sources = changed.map((source) => source.toStore(now, nowMs - now));
    if (!write({ days: this.#days, sources, gone: this.#gone })) return;
    for (const source of changed) source.isChanged = false;
    this.#gone = [];
  }

  #clientAt(address: string, now: number): Client {
    const client = this.#clients.get(address) ?? new Client(address, now);
    if (this.#clients.size < SOURCES_KNOWN) this.#clients.set(address, client);
    return client;
  }

  *#all(): Generator<Source> {
    for (const court of this.#courts.values()) yield* court.sources.values();
  }

  /** @returns undefined if there is no room for another one. */
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
    const source = new Source(name, court, now, this.#days);
    court.sources.set(name, source);
    this.#count++;
    if (this.#count >= SOURCES_KNOWN) this.#sweepAt = now;
    return source;
  }

  #sweep(now: number): void {
    const isFull = this.#count >= SOURCES_KNOWN;
    for (const { name, court, seenAt, lastDay, client } of this.#all()) {
      const isOld = this.#days - lastDay > FORGOTTEN.days;
      const isUnheard = now - Math.max(seenAt, client?.beatAt ?? 0) > FORGOTTEN.ifFullMs;
      if (!isOld && !(isFull && isUnheard)) continue;
      court.sources.delete(name);
      this.#gone.push({ court: court.name, name });
      if (court.sources.size === 0) this.#courts.delete(court.name);
      this.#count--;
    }
    for (const { address, heardAt } of this.#clients.values())
      if (now - heardAt > CLIENT_MS) this.#clients.delete(address);
    this.#last = undefined;
    this.#sweepAt = now + (this.#count >= SOURCES_KNOWN ? SWEEP_MS.ifFull : SWEEP_MS.usually);
  }
}

/** @returns when the last event of any came, since the daemon started. */
function lastOf(sources: Iterable<Source>): number {
  let last = Number.NEGATIVE_INFINITY;
  for (const { moments, lastAt } of sources) if (moments > 0 && lastAt > last) last = lastAt;
  return last;
}

/** @param ms milliseconds since 1970-01-01T00:00:00Z. @returns the number of the day in UTC. */
function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}
