import type { Exchange, Recording, SentEvent } from './exchange.ts';

/** One event in one request. */
export interface Sending {
  readonly event: SentEvent;
  readonly exchange: Exchange;
  /** What the answer said about it: `open` if neither stored nor rejected for good. */
  readonly outcome: 'stored' | 'named' | 'open';
}

/** The sendings of one revision of an event, at least one, in order of arrival: also those under another event_id. */
export type History = readonly Sending[];

/** A sending whose answer did not settle it, and the next one of the same event that was sent after the answer. */
export interface Resend {
  readonly before: Sending;
  readonly after: Sending;
  readonly history: History;
}

/** By how much a camera may wait longer than it must. */
const WAIT_TOLERANCE = { factor: 1.5, ms: 2_000 } as const;
const LONGEST_WAIT_S = 30;
/** After this many other requests, a camera has given up on an event that it did not send again. */
const LATER_REQUESTS = 10;

/** A recording, indexed for its judges. */
export class Traffic {
  readonly exchanges: readonly Exchange[];
  readonly histories: readonly History[];
  readonly resends: readonly Resend[];
  /** The last requests with events that their camera gave up before they were stored, or rejected for good. */
  readonly lost: readonly Exchange[];
  readonly #endedAt: number;

  constructor({ exchanges, endedAt }: Recording) {
    this.exchanges = exchanges;
    this.#endedAt = endedAt;
    const sendings = exchanges.flatMap((exchange) =>
      exchange.events.map((event) => ({ event, exchange, outcome: outcomeOf(exchange, event) })),
    );
    const byKey = Map.groupBy(sendings, ({ event }) => event.key);
    const byCore = Map.groupBy(byKey.values(), ([first]) => first!.event.core);
    this.histories = [...byCore.values()].flatMap((same) => this.#joined(same));
    this.resends = this.histories.flatMap(resendsIn);
    const stored = Map.groupBy(
      sendings.filter(({ outcome }) => outcome === 'stored'),
      ({ event }) => event.id,
    );
    const bySource = Map.groupBy(sendings, ({ event }) => event.source);
    const times = new Map(
      [...bySource].map(([name, own]) => [name, new Set(own.map((one) => one.exchange.at))]),
    );
    const isLost = (history: History) => {
      const { event, exchange } = history.at(-1)!;
      const isOpen = history.every(({ outcome }) => outcome === 'open');
      if (!isOpen || stored.get(event.id)?.some((one) => one.event.revision > event.revision)) return false;
      const later = [...times.get(event.source)!].filter((at) => at > endOf(exchange));
      // Only a camera that sends others has given up: it may have been switched off. After a 401 it must come back.
      const seenAt = exchange.status === 401 ? this.#endedAt : (later.at(-1) ?? 0);
      return later.length >= LATER_REQUESTS || seenAt >= dueAt(history);
    };
    this.lost = this.histories.filter(isLost).map((history) => history.at(-1)!.exchange);
  }

  /**
   * Makes one history of those that differ only in the event_id, if each begins after the last answer to the one before, and none of
   * these answers settled it. If the recording ends while one waits, what came meanwhile is another event.
   */
  #joined(same: readonly History[]): History[] {
    let whole = same[0]!;
    for (const [i, again] of same.entries()) {
      if (i === 0) continue;
      const { exchange } = whole.at(-1)!;
      const leastMs = this.#endedAt < dueAt(whole) ? (exchange.toldS ?? 1) * 1000 : 0;
      const isSettled = whole.some(({ outcome }) => outcome !== 'open');
      if (isSettled || again[0]!.exchange.at < endOf(exchange) + leastMs) return [whole, ...same.slice(i)];
      whole = [...whole, ...again];
    }
    return [whole];
  }
}

function resendsIn(history: History): Resend[] {
  const settled = history.findIndex(({ outcome }) => outcome !== 'open');
  const open = settled < 0 ? history : history.slice(0, settled + 1);
  return open.slice(1).flatMap((after, i) => {
    const before = open[i]!;
    return after.exchange.at < endOf(before.exchange) ? [] : [{ before, after, history }];
  });
}

/** When an event that has no answer that settles it must have come again. */
function dueAt(history: History): number {
  const { status, toldS, answeredAt, at } = history.at(-1)!.exchange;
  const isPartNext = status === 400 || status === 413;
  const waitS = toldS ?? (isPartNext ? 0 : Math.min(2 ** (history.length - 1), LONGEST_WAIT_S));
  return (answeredAt ?? at) + waitS * 1000 * WAIT_TOLERANCE.factor + WAIT_TOLERANCE.ms;
}

/** @returns when the camera could know the result; without an answer, when it was sent. */
export function endOf({ answeredAt, at }: Exchange): number {
  return answeredAt ?? at;
}

function outcomeOf({ status, named }: Exchange, { key }: SentEvent): Sending['outcome'] {
  if (status === 202) return 'stored';
  return status === 400 && named.includes(key) ? 'named' : 'open';
}
