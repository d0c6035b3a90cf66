import { REFUSAL_KINDS } from '../base/limits.ts';
import { DAY_MS } from '../base/units.ts';
import { type LogFields, type LoggedProblem, PROBLEMS, type ProblemCode } from '../protocol/errors.ts';
import type { RefusedRequest } from '../store/refused/refusedFile.ts';
import { SlidingCounts } from './slidingCounts.ts';

/** A request that was just rejected, without its token. */
export interface Refused {
  /** The request_id. */
  readonly id: string;
  readonly client: string;
  readonly problem: LoggedProblem;
  /** Of its first invalid event, or else of its first event; empty if they could not be read. */
  readonly camera: LogFields;
}

/** The same, to be kept. */
export interface KeptRequest extends Refused {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly atMs: number;
  /** Undefined if the content was not at fault. It must be copied. */
  readonly body: Buffer | undefined;
  /** To be removed from the body. */
  readonly token: string | undefined;
}

/** Rejected requests of one kind in the last day, as in `courtd status --json`. */
export interface RefusalReport {
  readonly code: ProblemCode;
  readonly client: string;
  readonly source: string | null;
  readonly court_id: string | null;
  readonly requests: number;
  readonly last_at: string;
  readonly ago_s: number;
  /** Whether a request of this client has been accepted since. */
  readonly is_over: boolean;
  /** The error of the latest one. */
  readonly error: string;
}

/** Requests of one code and client, and of one camera if that could be read. */
interface Kind extends Pick<RefusalReport, 'code' | 'client' | 'source' | 'court_id'> {
  readonly day: SlidingCounts;
  /** When the last one was, by the monotonic clock. */
  readonly lastAt: number;
  readonly error: string;
}

const ALL = 0;

/**
 * How many requests were rejected, by kind: for the log's summary, the status and the metrics. The requests themselves are in
 * `refused.db`. Of each code the kinds that were seen last are kept, so that a flood of one code evicts no other.
 */
export class Refusals {
  /** Since the start of the process. These only grow. */
  readonly byCode = Object.fromEntries(Object.keys(PROBLEMS).map((code) => [code, 0])) as Record<
    ProblemCode,
    number
  >;
  readonly #minute = new SlidingCounts(1, 60, 1_000);
  readonly #kinds = new Map<string, Map<string, Kind>>();

  /** @param before the requests of earlier daemons, the oldest first. @param nowMs @param now as in `add`. */
  constructor(before: readonly RefusedRequest[] = [], nowMs = 0, now = 0) {
    this.reset(before, nowMs, now);
  }

  /** Counts only these from now on, of what was rejected before. */
  reset(before: readonly RefusedRequest[], nowMs: number, now: number): void {
    this.#kinds.clear();
    for (const { code, client, source, courtId, error, atMs } of before) {
      const agoMs = Math.max(0, nowMs - atMs);
      if (agoMs < DAY_MS && Object.hasOwn(PROBLEMS, code))
        this.#count({ code: code as ProblemCode, client, source, court_id: courtId }, error, now - agoMs);
    }
  }

  /** @param now of the monotonic clock, in milliseconds. */
  add({ client, problem: { code, message }, camera }: Refused, now: number): void {
    const { source = null, court_id = null } = camera;
    this.byCode[code]++;
    this.#minute.add(now, ALL, 1);
    this.#count({ code, client, source, court_id }, message, now);
  }

  #count(names: Pick<Kind, 'code' | 'client' | 'source' | 'court_id'>, error: string, lastAt: number): void {
    const { code, client, source, court_id } = names;
    const kinds = this.#kinds.get(code) ?? new Map<string, Kind>();
    this.#kinds.set(code, kinds);
    const key = `${client}\n${source ?? ''}\n${court_id ?? ''}`;
    const known = kinds.get(key);
    const kind = known ?? {
      ...{ code, client, source: ownText(source), court_id: ownText(court_id) },
      day: new SlidingCounts(1, 48, 1_800_000),
    };
    kind.day.add(lastAt, ALL, 1);
    kinds.delete(key);
    kinds.set(key, { ...kind, lastAt, error: known?.error === error ? known.error : ownText(error) });
    if (kinds.size > REFUSAL_KINDS) kinds.delete(kinds.keys().next().value!);
  }

  /** @param now of the monotonic clock. @returns how many there were in the last minute. */
  lastMinute(now: number): number {
    return this.#minute.sum(now, ALL);
  }

  /**
   * @param nowMs by the box's clock.
   * @param acceptedAt when a client last got a 202, by the monotonic clock.
   * @returns the kinds of the last day, those with the most requests first.
   */
  report(now: number, nowMs: number, acceptedAt: (client: string) => number): RefusalReport[] {
    return [...this.#kinds.values()]
      .flatMap((kinds) => [...kinds.values()])
      .map(({ day, lastAt, error, ...names }) => ({
        ...names,
        requests: day.sum(now, ALL),
        last_at: new Date(nowMs - (now - lastAt)).toISOString(),
        ago_s: Math.round((now - lastAt) / 1_000),
        is_over: acceptedAt(names.client) > lastAt,
        error,
      }))
      .filter(({ requests }) => requests > 0)
      .sort((a, b) => b.requests - a.requests);
  }
}

/** @returns a copy of a text: a slice of a body would keep the whole body in memory. */
function ownText<Text extends string | null>(text: Text): Text {
  return text === null ? text : (Buffer.from(text).toString() as Text);
}
