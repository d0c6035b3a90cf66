import type { Exchange, Recording, SentEvent } from './exchange.ts';

/** What a judge says, and the requests that show it: of a pass, none where the camera had no occasion to fail. */
export interface Judgement {
  readonly verdict: 'pass' | 'fail' | 'not seen';
  readonly message: string;
  readonly shownBy: readonly Exchange[];
}

/** @returns undefined where no request shows it. */
export function failIf(shownBy: readonly Exchange[], message: string): Judgement | undefined {
  return shownBy.length > 0 ? { verdict: 'fail', message, shownBy } : undefined;
}

/** @returns undefined where no request shows it. */
export function passIf(shownBy: readonly Exchange[], message: string): Judgement | undefined {
  return shownBy.length > 0 ? { verdict: 'pass', message, shownBy } : undefined;
}

export function notSeen(message: string, shownBy: readonly Exchange[] = []): Judgement {
  return { verdict: 'not seen', message, shownBy };
}

/** One event in one request. */
export interface Sending {
  readonly event: SentEvent;
  readonly exchange: Exchange;
  /** What the answer said about it: `unknown` where neither stored nor refused for good. */
  readonly outcome: 'stored' | 'named' | 'unknown';
}

/** The sendings of one revision of an event, at least one, in order of arrival: also those under another event_id. */
export type History = readonly Sending[];

/** What came before an event was given up: each loss is one check's to tell. */
export type LossCause = 'restart' | 'unauthorized' | 'invalid' | 'too_large' | 'retryable';
const CAUSES: Partial<Record<number, LossCause>> = { 400: 'invalid', 401: 'unauthorized', 413: 'too_large' };

/** The share of a wait that is enough, so that a slightly fast clock is not too early. */
export const EARLY_SHARE = 0.95;
/** By how much a camera may wait longer than it must. */
const WAIT_TOLERANCE = { factor: 1.5, ms: 2_000 } as const;
/** After this many other requests, a camera has given up on an event that it did not send again. */
const WENT_ON_REQUESTS = 10;
const LONGEST_WAIT_S = 30;
const UNAUTHORIZED_MS = 36_000;

/** A recording, indexed for its judges. */
export class Traffic {
  readonly exchanges: readonly Exchange[];
  readonly connections: Recording['connections'];
  readonly endedAt: number;
  readonly histories: readonly History[];
  /** By the cause, the last sendings of events that their camera forgot before they were stored or refused for good. */
  readonly losses: ReadonlyMap<LossCause, readonly Sending[]>;
  readonly #byKey: ReadonlyMap<string, History>;
  /** When the first and the last request came that was refused while cameras were to be switched off and on. */
  readonly #restart: readonly [beginAt: number, endAt: number];
  /** When the first and the last request came on each connection. */
  readonly #spans = new Map<number, readonly [firstAt: number, lastAt: number]>();
  /** When the requests of each source came. */
  readonly #timesOf = new Map<string, number[]>();

  constructor({ exchanges, connections, endedAt }: Recording) {
    this.endedAt = endedAt;
    this.exchanges = exchanges;
    this.connections = connections;
    const refused = exchanges.filter(({ fault }) => fault === 'restart');
    this.#restart = [refused[0]?.at ?? Infinity, refused.at(-1)?.at ?? -Infinity];
    const byKey = new Map<string, Sending[]>();
    for (const exchange of exchanges) {
      const { connection, at } = exchange;
      this.#spans.set(connection, [this.#spans.get(connection)?.[0] ?? at, at]);
      for (const event of exchange.events) {
        const sendings = byKey.get(event.key) ?? [];
        sendings.push({ event, exchange, outcome: outcomeOf(exchange, event) });
        byKey.set(event.key, sendings);
        const times = this.#timesOf.get(event.source) ?? [];
        if (times.at(-1) !== exchange.at) times.push(exchange.at);
        this.#timesOf.set(event.source, times);
      }
    }
    joinRenamed(byKey, endedAt);
    this.#byKey = byKey;
    this.histories = [...new Set(byKey.values())];
    this.losses = this.#lossesByCause();
  }

  /** @param event that is in the recording. */
  historyOf({ key }: SentEvent): History {
    return this.#byKey.get(key)!;
  }

  /** @returns the next request with the same event, under whatever event_id, sent after this one was answered. */
  next({ event, exchange }: Pick<Sending, 'event' | 'exchange'>): Sending | undefined {
    const endedAt = endOf(exchange);
    return this.historyOf(event).find((one) => one.exchange !== exchange && one.exchange.at >= endedAt);
  }

  /**
   * Whether a camera may have been switched off between two requests: what it was told just before is forgotten then. It comes back
   * with a new connection, and the old one is used no more: else it has several, and was not off.
   */
  wasOff(before: Exchange, after: Exchange): boolean {
    const [begin, end] = this.#restart;
    const [openedAt] = this.#spans.get(after.connection)!;
    const [, lastAt] = this.#spans.get(before.connection)!;
    return before.at <= end && after.at >= begin && lastAt < openedAt;
  }

  /** @returns events that were never acknowledged nor refused for good. */
  open(): History[] {
    return this.histories.filter((all) => all.every(({ outcome }) => outcome === 'unknown'));
  }

  #lossesByCause(): Map<LossCause, Sending[]> {
    const stored = storedRevisions(this.histories);
    const lost = this.open()
      .filter(
        (all) => (stored.get(all[0]!.event.id) ?? -1) < all[0]!.event.revision && this.#isForgotten(all),
      )
      .map((all) => all.at(-1)!);
    const [begin, end] = this.#restart;
    return Map.groupBy(lost, ({ event, exchange }) => {
      const isWhileOff = exchange.at <= end && this.#dueAt(this.historyOf(event)) >= begin;
      return isWhileOff ? 'restart' : (CAUSES[exchange.status ?? 0] ?? 'retryable');
    });
  }

  /** When an event that has no answer that settles it must have come again. */
  #dueAt(history: History): number {
    const { exchange } = history.at(-1)!;
    const { status, toldS = Math.min(2 ** (history.length - 1), LONGEST_WAIT_S) } = exchange;
    // After a 401 some wait half a minute, and a little more, whatever this box says: a real one tells them to.
    const waitMs = Math.max(toldS * 1000 * WAIT_TOLERANCE.factor, status === 401 ? UNAUTHORIZED_MS : 0);
    return endOf(exchange) + waitMs + WAIT_TOLERANCE.ms;
  }

  /** Whether it was due to be sent again while its camera went on with others. A camera that was switched off did not go on. */
  #isForgotten(history: History): boolean {
    if (this.endedAt < this.#dueAt(history)) return false;
    const { event, exchange } = history.at(-1)!;
    return (this.#timesOf.get(event.source)?.at(-WENT_ON_REQUESTS) ?? 0) > endOf(exchange);
  }
}

/** @returns when the camera could know the result; without an answer, when it was sent. */
export function endOf({ answeredAt, at }: Exchange): number {
  return answeredAt ?? at;
}

/**
 * Makes one history of those that differ only in the event_id, where each begins after the last answer to the one before, and none
 * of these answers settled it. Of a program that sends many events that are otherwise the same, the first is stored under its id:
 * where the recording ends while it waits, what came meanwhile is another one.
 */
function joinRenamed(byKey: Map<string, Sending[]>, endedAt: number): void {
  for (const same of Map.groupBy(byKey.values(), ([first]) => first!.event.core).values()) {
    const whole = same[0]!;
    for (const again of same.slice(1)) {
      const isSettled = whole.some(({ outcome }) => outcome !== 'unknown');
      const { exchange } = whole.at(-1)!;
      const waitMs = (exchange.toldS ?? 1) * 1000;
      const { at } = again[0]!.exchange;
      const mayWait = endedAt < endOf(exchange) + waitMs * WAIT_TOLERANCE.factor + WAIT_TOLERANCE.ms;
      if (isSettled || at < endOf(exchange) + (mayWait ? waitMs * EARLY_SHARE : 0)) break;
      whole.push(...again);
      byKey.set(again[0]!.event.key, whole);
    }
  }
}

/** @returns the highest stored revision of each event. */
function storedRevisions(histories: readonly History[]): Map<string, number> {
  const highest = new Map<string, number>();
  for (const history of histories) {
    const stored = history.find(({ outcome }) => outcome === 'stored');
    if (stored === undefined) continue;
    const { id, revision } = stored.event;
    highest.set(id, Math.max(revision, highest.get(id) ?? -1));
  }
  return highest;
}

function outcomeOf({ status, named }: Exchange, { key }: SentEvent): Sending['outcome'] {
  if (status === 202) return 'stored';
  return status === 400 && named.includes(key) ? 'named' : 'unknown';
}
