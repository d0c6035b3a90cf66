import type { ProblemCode } from '../protocol/errors.ts';
import { ownText } from './rejectionLog.ts';
import { SlidingCounts } from './slidingCounts.ts';

/** How many kinds of refusals are tracked: code, client, and which camera it was where that could be read. */
const KINDS_MAX = 500;
const DAY_MS = 86_400_000;
/** How often a full table is searched for kinds older than a day. */
const SWEEP_MS = 1_000;
const ALL = 0;

/** Refused requests of one kind in the last day. */
export interface RefusalReport {
  readonly code: ProblemCode;
  readonly client: string;
  readonly source: string | null;
  readonly court_id: string | null;
  readonly requests: number;
  readonly last_at: string;
  readonly ago_s: number;
  /** Whether this client has had events stored since. */
  readonly is_over: boolean;
  /** The error of the latest one. */
  readonly error: string;
}

interface Kind extends Pick<RefusalReport, 'code' | 'client' | 'source' | 'court_id'> {
  readonly day: SlidingCounts;
  lastAt: number;
  error: string;
}

/** Which requests were refused in the last day, by client. The table is bounded, since there may be any number of clients: a new kind is dropped while it is full. */
export class RefusalTable {
  readonly #kinds = new Map<string, Kind>();
  #sweepAt = 0;

  /** @param now of the monotonic clock, in milliseconds. */
  add(refused: Pick<Kind, 'code' | 'client' | 'source' | 'court_id' | 'error'>, now: number): void {
    const { code, client, source, court_id, error } = refused;
    const key = `${code}\n${client}\n${source ?? ''}\n${court_id ?? ''}`;
    const kind = this.#kinds.get(key) ?? this.#make(key, { code, client, source, court_id }, now);
    if (kind === undefined) return;
    kind.day.add(now, ALL, 1);
    kind.lastAt = now;
    if (kind.error !== error) kind.error = ownText(error);
  }

  /**
   * @param nowMs by the box's clock.
   * @param storedAt when a client last had events stored, by the monotonic clock.
   */
  report(now: number, nowMs: number, storedAt: (client: string) => number | undefined): RefusalReport[] {
    return [...this.#kinds.values()]
      .map(({ day, lastAt, ...kind }) => ({
        ...kind,
        requests: day.sum(now, ALL),
        last_at: new Date(nowMs - (now - lastAt)).toISOString(),
        ago_s: Math.round((now - lastAt) / 1_000),
        is_over: (storedAt(kind.client) ?? Number.NEGATIVE_INFINITY) > lastAt,
      }))
      .filter(({ requests }) => requests > 0)
      .sort((a, b) => b.requests - a.requests);
  }

  #make(
    key: string,
    what: Pick<Kind, 'code' | 'client' | 'source' | 'court_id'>,
    now: number,
  ): Kind | undefined {
    if (this.#kinds.size >= KINDS_MAX && now >= this.#sweepAt) {
      this.#sweepAt = now + SWEEP_MS;
      for (const [old, { lastAt }] of this.#kinds) if (now - lastAt > DAY_MS) this.#kinds.delete(old);
    }
    if (this.#kinds.size >= KINDS_MAX) return undefined;
    const names = { source: ownText(what.source), court_id: ownText(what.court_id) };
    const made = { ...what, ...names, day: new SlidingCounts(1, 24, 3_600_000), lastAt: now, error: '' };
    this.#kinds.set(key, made);
    return made;
  }
}
