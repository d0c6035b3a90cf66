import { SOURCES_KNOWN } from '../base/limits.ts';
import { DAY_MS } from '../base/units.ts';
import { byName } from '../base/visibleText.ts';
import type { CourtEvent } from '../protocol/courtEvent.ts';
import type { Refused } from '../store/refused/refusedRequests.ts';
import type { StoredSources } from '../store/storedSources.ts';
import type { Copy } from '../store/write/duplicates.ts';
import { Client } from './client.ts';
import type { RefusalReport } from './refusals.ts';
import { Source, type SourceReport } from './source.ts';

/** A source is forgotten after days on which others sent, or if the table is full; a client after so long. */
const FORGOTTEN = { days: 30, ifFullMs: 3_600_000, clientMs: 30 * DAY_MS } as const;
const NOTHING: StoredSources = { days: 0, sources: [] };

/** How long a venue may be quiet after several courts stopped at once: within so long of each other, after an hour of play. */
const QUIET = { ms: 300_000, togetherMs: 10_000, playMs: 3_600_000 } as const;

/**
 * What the daemon has seen of each source, and in part what the daemons before it have. `now` is in milliseconds of a clock that
 * never jumps, and `nowMs` is the same moment by the clock of the box.
 */
export class SourceTable {
  readonly #courts = new Map<string, Map<string, Source>>();
  /** With a valid token, by address; more than SOURCES_KNOWN are not remembered beyond their request. */
  readonly #clients = new Map<string, Client>();
  #count = 0;
  /** What the database has, as JSON. */
  #kept = JSON.stringify(NOTHING);
  /** On how many days any source sent, and which of the box's days is the last one. */
  #days: number;
  #day: number | undefined;

  /** @param before as it was stored. An expected client has its full time from `now` on: nobody counted its requests meanwhile. */
  constructor({ days, sources }: StoredSources = NOTHING, now = 0, nowMs = 0) {
    this.#days = days;
    for (const stored of sources) {
      const client = this.#clientAt(stored.client, now);
      if (stored.isExpected) client.isExpected = true;
      this.#of(stored.name, stored.court, now)?.restore(stored, client, nowMs - now);
      if (stored.lastMs !== null) this.#day = Math.max(this.#day ?? 0, dayOf(stored.lastMs));
    }
  }

  /**
   * Counts the events of an accepted request, duplicates included. Without any, it is a sign of life of its client.
   * @param receivedMs by the box's clock.
   */
  stored(address: string, events: readonly CourtEvent[], receivedMs: number, now: number): void {
    const client = this.#clientAt(address, now);
    client.accepted(events.length === 0, now);
    if (events.length > 0 && dayOf(receivedMs) !== this.#day) {
      this.#day = dayOf(receivedMs);
      this.#days++;
    }
    const bySource = Map.groupBy(events, ({ source, courtId }) => this.#of(source, courtId, now));
    for (const [source, its] of bySource) source?.arrived(its, client, receivedMs, now, this.#days);
  }

  /** Corrects the counts for duplicates. */
  repeated(copies: readonly Copy[], now: number): void {
    for (const { event, isConflict } of copies)
      this.#of(event.source, event.courtId, now)?.repeated(now, isConflict);
  }

  /** A rejected client is alive, and a rejected camera is known. */
  refused({ client: address, source: name, court_id }: Refused, now: number): void {
    const known = this.#clients.get(address);
    if (known !== undefined) known.heardAt = now;
    if (name === undefined || court_id === undefined) return;
    const source = this.#of(name, court_id, now);
    if (source === undefined) return;
    source.client ??= this.#clientAt(address, now);
    source.seen(now, this.#days);
  }

  clockWasSet(): void {
    for (const source of this.#all()) source.lateness.forget();
  }

  /** @returns when this address last got a 202. */
  acceptedAt(address: string): number {
    return this.#clients.get(address)?.acceptedAt ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * Requests that do not name a court, or nothing, count for the source of that name or of their client, if there is only one.
   * @param refusals of the last day.
   * @returns every source, by court and name.
   */
  report(now: number, nowMs: number, refusals: readonly RefusalReport[]): SourceReport[] {
    const sorted = this.#all().sort((a, b) => byName(a.courtId, b.courtId) || byName(a.name, b.name));
    const ofClient = Map.groupBy(sorted, ({ client }) => client?.address);
    const ofName = Map.groupBy(sorted, ({ name }) => name);
    const refused = new Map<Source, number>();
    for (const { client, source, court_id, requests } of refusals) {
      const named = (source === null ? ofClient.get(client) : ofName.get(source)) ?? [];
      const [only, other] = named.filter(({ courtId }) => court_id === null || courtId === court_id);
      if (only !== undefined && other === undefined) refused.set(only, (refused.get(only) ?? 0) + requests);
    }
    return sorted.map((source) => source.report(now, nowMs - now, this.#days, refused.get(source) ?? 0));
  }

  /**
   * @returns for how long it is quiet, and how many sources were sending; null unless nothing comes since all courts that were
   * played on stopped at once, as with a dead switch. An evening ends one court after the other. One court alone shows nothing.
   */
  quiet(now: number) {
    for (const { heardAt } of this.#clients.values()) if (now - heardAt <= QUIET.ms) return null;
    const sent = this.#all().filter(({ moments }) => moments > 0);
    const end = Math.max(...sent.map(({ lastAt }) => lastAt));
    const playing = sent.filter(({ lastAt }) => end - lastAt <= QUIET.playMs);
    const courts = [...Map.groupBy(playing, ({ courtId }) => courtId).values()];
    const ends = courts.map((sources) => Math.max(...sources.map(({ lastAt }) => lastAt)));
    if (ends.length < 2 || ends.some((at) => end - at > QUIET.togetherMs)) return null;
    return { for_s: Math.round((now - end) / 1_000), sources: playing.length };
  }

  /**
   * Call it once a minute: forgets what is old, and gives all sources to `write` if one has changed.
   * @param write returns whether they are on disk: else it is tried again the next time.
   */
  keep(now: number, nowMs: number, write: (sources: StoredSources) => boolean): void {
    this.#forget(now);
    const known = this.#all().filter(({ hasEvents }) => hasEvents);
    const stored = { days: this.#days, sources: known.map((source) => source.toStore(now, nowMs - now)) };
    const json = JSON.stringify(stored);
    if (json !== this.#kept && write(stored)) this.#kept = json;
  }

  #forget(now: number): void {
    const isFull = this.#count >= SOURCES_KNOWN;
    for (const { name, courtId: court, seenAt, lastDay, client } of this.#all()) {
      const isOld = this.#days - lastDay > FORGOTTEN.days;
      const isUnheard = now - Math.max(seenAt, client?.beatAt ?? 0) > FORGOTTEN.ifFullMs;
      if (!isOld && !(isFull && isUnheard)) continue;
      this.#courts.get(court)?.delete(name);
      this.#count--;
    }
    for (const { address, heardAt } of this.#clients.values())
      if (now - heardAt > FORGOTTEN.clientMs) this.#clients.delete(address);
    for (const [court, sources] of this.#courts) if (sources.size === 0) this.#courts.delete(court);
  }

  #clientAt(address: string, now: number): Client {
    const client = this.#clients.get(address) ?? new Client(address, now);
    if (this.#clients.size < SOURCES_KNOWN) this.#clients.set(address, client);
    return client;
  }

  #all(): Source[] {
    return [...this.#courts.values()].flatMap((sources) => [...sources.values()]);
  }

  /** @returns a source, which is new if there was none; undefined if there is no room for another one. */
  #of(name: string, courtId: string, now: number): Source | undefined {
    const court = this.#courts.get(courtId) ?? new Map<string, Source>();
    const known = court.get(name);
    if (known !== undefined || this.#count >= SOURCES_KNOWN) return known;
    const source = new Source(name, courtId, court, now, this.#days);
    this.#courts.set(courtId, court.set(name, source));
    this.#count++;
    return source;
  }
}

/** @param ms milliseconds since 1970-01-01T00:00:00Z. @returns the number of the day in UTC. */
function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}
