import type { Exchange, Recording, SentEvent } from './exchange.ts';

/** What a judge says, and the requests that show it. */
export interface Judgement {
  readonly verdict: 'pass' | 'fail' | 'not seen';
  readonly message: string;
  readonly shownBy: readonly Exchange[];
}

export function pass(message: string, shownBy: readonly Exchange[]): Judgement {
  return { verdict: 'pass', message, shownBy };
}

export function fail(message: string, shownBy: readonly Exchange[]): Judgement {
  return { verdict: 'fail', message, shownBy };
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

/** By how much a camera may wait longer than it must. */
const WAIT_TOLERANCE = { factor: 1.5, ms: 2_000 } as const;
/** After this many other requests, a camera has given up on an event that it did not send again. */
const WENT_ON_REQUESTS = 10;
const LONGEST_WAIT_S = 30;

/** A recording, indexed for its judges. */
export class Traffic {
  readonly exchanges: readonly Exchange[];
  readonly connections: Recording['connections'];
  /** Of each key, in order of arrival. */
  readonly byKey: ReadonlyMap<string, readonly Sending[]>;
  /** When the requests of each source came. */
  readonly #timesOf = new Map<string, number[]>();
  readonly #endedAt: number;

  constructor({ exchanges, connections, endedAt }: Recording) {
    this.#endedAt = endedAt;
    this.exchanges = exchanges;
    this.connections = connections;
    const byKey = new Map<string, Sending[]>();
    for (const exchange of exchanges) {
      for (const event of exchange.events) {
        const sendings = byKey.get(event.key) ?? [];
        sendings.push({ event, exchange, outcome: outcomeOf(exchange, event) });
        byKey.set(event.key, sendings);
        const times = this.#timesOf.get(event.source) ?? [];
        if (times.at(-1) !== exchange.at) times.push(exchange.at);
        this.#timesOf.set(event.source, times);
      }
    }
    this.byKey = byKey;
  }

  /** @returns the next request with the same event, sent after this one was answered. */
  next({ event, exchange }: Pick<Sending, 'event' | 'exchange'>): Sending | undefined {
    const endedAt = endOf(exchange);
    return this.byKey.get(event.key)?.find((one) => one.exchange !== exchange && one.exchange.at >= endedAt);
  }

  /** @returns the last sending of each event that was never acknowledged nor refused for good. */
  open(): Sending[] {
    const sendings = [...this.byKey.values()];
    return sendings.flatMap((all) =>
      all.every(({ outcome }) => outcome === 'unknown') ? all.slice(-1) : [],
    );
  }

  /** Whether this one was due to be sent again while its camera went on with others. A camera that was switched off did not go on. */
  isForgotten({ event, exchange }: Sending): boolean {
    const tries = this.byKey.get(event.key)!.length;
    const waitMs = (exchange.toldS ?? Math.min(2 ** (tries - 1), LONGEST_WAIT_S)) * 1000;
    const endedAt = endOf(exchange);
    if (this.#endedAt < endedAt + waitMs * WAIT_TOLERANCE.factor + WAIT_TOLERANCE.ms) return false;
    return (this.#timesOf.get(event.source)?.at(-WENT_ON_REQUESTS) ?? 0) > endedAt;
  }
}

/** @returns when the camera could know the result; without an answer, when it was sent. */
export function endOf({ answeredAt, at }: Exchange): number {
  return answeredAt ?? at;
}

function outcomeOf({ status, named }: Exchange, { key }: SentEvent): Sending['outcome'] {
  if (status === 202) return 'stored';
  return status === 400 && named.includes(key) ? 'named' : 'unknown';
}
