import { REFUSAL_KINDS } from '../base/limits.ts';
import { DAY_MS } from '../base/units.ts';
import { PROBLEMS, type ProblemCode } from '../protocol/errors.ts';
import type { RefusedRequest } from '../store/refused/refusedFile.ts';
import type { Refused } from '../store/refused/refusedRequests.ts';
import { SlidingCounts, WINDOWS } from './slidingCounts.ts';

/** Rejected requests of one code and client, and of one camera if that could be read, in the last day. */
export type RefusalReport = ReturnType<Refusals['report']>[number];

interface Kind {
  readonly of: Pick<RefusedRequest, 'client' | 'source' | 'court_id'> & { code: ProblemCode };
  readonly day: SlidingCounts;
  lastAt: number;
}

/**
 * How many requests were rejected, by kind: for the log's summary, the status and the metrics. The requests themselves are in
 * `refused.db`. Of each code the kinds that were seen last are kept, so that a flood of one code evicts no other. All times are
 * milliseconds of a clock that never jumps.
 */
export class Refusals {
  /** Since the start of the process. These only grow. */
  readonly byCode = Object.fromEntries(Object.keys(PROBLEMS).map((code) => [code, 0])) as Record<
    ProblemCode,
    number
  >;
  readonly #minute = new SlidingCounts(...WINDOWS.minute);
  /** By code. */
  readonly #kinds = new Map<string, Map<string, Kind>>();

  /** Replaces the rejected requests from before. @param requests the newest first. */
  reset(requests: readonly RefusedRequest[], nowMs: number, now: number): void {
    this.#kinds.clear();
    for (const { code, client, source, court_id, at_ms } of requests.toReversed()) {
      const agoMs = Math.max(0, nowMs - at_ms);
      if (agoMs < DAY_MS && Object.hasOwn(PROBLEMS, code))
        this.#count({ code: code as ProblemCode, client, source, court_id }, now - agoMs);
    }
  }

  add({ client, code, ...camera }: Refused, now: number): void {
    const { source = null, court_id = null } = camera;
    this.byCode[code]++;
    this.#minute.add(now);
    this.#count({ code, client, source, court_id }, now);
  }

  #count(of: Kind['of'], now: number): void {
    const kinds = this.#kinds.get(of.code) ?? new Map<string, Kind>();
    this.#kinds.set(of.code, kinds);
    const key = JSON.stringify(of);
    // Parsed again, because a name may be a slice of a body, and would keep the whole body in memory.
    const kind = kinds.get(key) ?? { of: JSON.parse(key), day: new SlidingCounts(...WINDOWS.day), lastAt: 0 };
    kind.day.add(now);
    kind.lastAt = now;
    // The one that was seen last is the last of the map.
    kinds.delete(key);
    kinds.set(key, kind);
    if (kinds.size > REFUSAL_KINDS) kinds.delete(kinds.keys().next().value!);
  }

  /** @returns how many there were in the last minute. */
  lastMinute(now: number): number {
    return this.#minute.sum(now);
  }

  /** @param acceptedAt when a client last got a 202. @returns the kinds of the last day, those with the most requests first. */
  report(now: number, acceptedAt: (client: string) => number) {
    return [...this.#kinds.values()]
      .flatMap((kinds) => [...kinds.values()])
      .map(({ of, day, lastAt }) => ({
        ...of,
        requests: day.sum(now),
        // Since the last one.
        ago_s: Math.round((now - lastAt) / 1_000),
        // Whether a request of this client has been accepted since.
        is_over: acceptedAt(of.client) > lastAt,
      }))
      .filter(({ requests }) => requests > 0)
      .sort((a, b) => b.requests - a.requests);
  }
}
