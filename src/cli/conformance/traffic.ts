import type { Exchange, Recording, SentEvent } from './exchange.ts';

/** One event in one request. */
export interface Sending {
  readonly event: SentEvent;
  readonly exchange: Exchange;
  /** What the camera was told of it: `unknown` where it was neither stored nor refused for good. */
  readonly outcome: 'stored' | 'named' | 'unknown';
}

/** By how much a camera may wait longer than it must. */
const PATIENCE = { factor: 1.5, ms: 2_000 } as const;
/** So many other requests of a camera show that it goes on without what it did not send again. */
const WENT_ON_REQUESTS = 10;
const LONGEST_WAIT_S = 30;

/** A recording, by what its judges ask for. */
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

  /** @returns of each event that the camera was never told to be stored or refused, the last sending. */
  open(): Sending[] {
    const sendings = [...this.byKey.values()];
    return sendings.flatMap((all) =>
      all.every(({ outcome }) => outcome === 'unknown') ? all.slice(-1) : [],
    );
  }

  /** Whether it was time to send this one again, and its camera went on with others. A camera that was switched off has not. */
  isForgotten({ event, exchange }: Sending): boolean {
    const tries = this.byKey.get(event.key)!.length;
    const waitMs = (exchange.toldS ?? Math.min(2 ** (tries - 1), LONGEST_WAIT_S)) * 1000;
    const endedAt = endOf(exchange);
    if (this.#endedAt < endedAt + waitMs * PATIENCE.factor + PATIENCE.ms) return false;
    return (this.#timesOf.get(event.source)?.at(-WENT_ON_REQUESTS) ?? 0) > endedAt;
  }
}

/** @returns when the camera could know what became of it; for what hangs, when it was sent. */
export function endOf({ answeredAt, at }: Exchange): number {
  return answeredAt ?? at;
}

function outcomeOf({ status, named }: Exchange, { key }: SentEvent): Sending['outcome'] {
  if (status === 202) return 'stored';
  return status === 400 && named.includes(key) ? 'named' : 'unknown';
}
