import type { Exchange, Recording, SentEvent } from './exchange.ts';

/** One event in one request. */
export interface Sending {
  readonly event: SentEvent;
  readonly exchange: Exchange;
  /** What the answer said about it: `open` if neither stored nor rejected for good. */
  readonly outcome: 'stored' | 'named' | 'open';
}

/** The sendings of one revision of an event, at least one, in order of arrival: also those under another event_id. */
type History = readonly Sending[];

/** A sending whose answer did not settle it, and the next one of the same event. */
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
  readonly resends: readonly Resend[];
  /** The last requests with events that their camera gave up before they were stored, or rejected for good. */
  readonly lost: readonly Exchange[];
  readonly #endedAt: number;
  readonly #byKey = new Map<string, Sending[]>();
  /** When the requests of each source came. */
  readonly #timesOf = new Map<string, number[]>();
  /** The highest stored revision of each event. */
  readonly #revisions = new Map<string, number>();

  constructor({ exchanges, endedAt }: Recording) {
    this.exchanges = exchanges;
    this.#endedAt = endedAt;
    for (const exchange of exchanges) for (const event of exchange.events) this.#add(event, exchange);
    this.#joinRenamed();
    const histories = [...new Set<History>(this.#byKey.values())];
    this.resends = histories.flatMap(resendsIn);
    this.lost = histories.filter((one) => this.#isLost(one)).map((history) => history.at(-1)!.exchange);
  }

  #add(event: SentEvent, exchange: Exchange): void {
    const { key, id, revision, source } = event;
    const outcome = outcomeOf(exchange, event);
    const sendings = this.#byKey.get(key) ?? [];
    sendings.push({ event, exchange, outcome });
    this.#byKey.set(key, sendings);
    const times = this.#timesOf.get(source) ?? [];
    if (times.at(-1) !== exchange.at) times.push(exchange.at);
    this.#timesOf.set(source, times);
    if (outcome === 'stored') this.#revisions.set(id, Math.max(revision, this.#revisions.get(id) ?? -1));
  }

  /**
   * Makes one history of those that differ only in the event_id, if each begins after the last answer to the one before, and none of
   * these answers settled it. If the recording ends while one waits, what came meanwhile is another event.
   */
  #joinRenamed(): void {
    for (const same of Map.groupBy(this.#byKey.values(), ([first]) => first!.event.core).values()) {
      const whole = same[0]!;
      for (const again of same.slice(1)) {
        const { exchange } = whole.at(-1)!;
        const leastMs = this.#endedAt < this.#dueAt(whole) ? (exchange.toldS ?? 1) * 1000 : 0;
        const isSettled = whole.some(({ outcome }) => outcome !== 'open');
        if (isSettled || again[0]!.exchange.at < endOf(exchange) + leastMs) break;
        whole.push(...again);
        this.#byKey.set(again[0]!.event.key, whole);
      }
    }
  }

  historyOf({ key }: SentEvent): History {
    return this.#byKey.get(key)!;
  }

  /** @returns the next request with the same event, under whatever event_id, sent after this one was answered. */
  next(event: SentEvent, exchange: Exchange): Exchange | undefined {
    const sendings = this.historyOf(event).map((one) => one.exchange);
    return sendings.find((one) => one !== exchange && one.at >= endOf(exchange));
  }

  /** When an event that has no answer that settles it must have come again. */
  #dueAt(history: History): number {
    const { status, toldS, answeredAt, at } = history.at(-1)!.exchange;
    const isPartNext = status === 400 || status === 413;
    const waitS = toldS ?? (isPartNext ? 0 : Math.min(2 ** (history.length - 1), LONGEST_WAIT_S));
    return (answeredAt ?? at) + waitS * 1000 * WAIT_TOLERANCE.factor + WAIT_TOLERANCE.ms;
  }

  /** Only a camera that sends others afterwards has given up: it may have been switched off. After a 401 it must come back. */
  #isLost(history: History): boolean {
    const { event, exchange } = history.at(-1)!;
    const isOpen = history.every(({ outcome }) => outcome === 'open');
    if (!isOpen || (this.#revisions.get(event.id) ?? -1) > event.revision) return false;
    const later = this.#timesOf.get(event.source)!.filter((at) => at > endOf(exchange));
    const seenAt = exchange.status === 401 ? this.#endedAt : (later.at(-1) ?? 0);
    return later.length >= LATER_REQUESTS || seenAt >= this.#dueAt(history);
  }
}

function resendsIn(history: History): Resend[] {
  const settled = history.findIndex(({ outcome }) => outcome !== 'open');
  const open = settled < 0 ? history : history.slice(0, settled + 1);
  return open.flatMap((after, i) => {
    const before = open[i - 1];
    return before === undefined || before.exchange === after.exchange ? [] : [{ before, after, history }];
  });
}

/** @returns when the camera could know the result; without an answer, when it was sent. */
export function endOf({ answeredAt, at }: Exchange): number {
  return answeredAt ?? at;
}

function outcomeOf({ status, named }: Exchange, { key }: SentEvent): Sending['outcome'] {
  if (status === 202) return 'stored';
  return status === 400 && named.includes(key) ? 'named' : 'open';
}
