import type { Exchange, Recording, SentEvent } from './exchange.ts';

/** One event in one request. */
export interface Sending {
  readonly event: SentEvent;
  readonly exchange: Exchange;
  /** What the answer said about it: `open` if neither stored nor rejected for good. */
  readonly outcome: 'stored' | 'named' | 'open';
}

/** The sendings of one revision of an event, at least one, in order of arrival. */
type History = readonly Sending[];

/** A sending whose answer did not settle it, and the next one of the same event that was sent after the answer. */
export interface Resend {
  readonly before: Sending;
  readonly after: Sending;
  readonly history: History;
}

/** After this many other requests, a camera has given up on an event that it did not send again. */
const LATER_REQUESTS = 10;
/** After a 401, whose Retry-After is 3 s, it must have come back by then, even if it sends nothing else. */
const BACK_AFTER_401_MS = 6_500;

/** A recording, as the checks read it. */
export interface Traffic {
  readonly exchanges: readonly Exchange[];
  readonly resends: readonly Resend[];
  /** The requests that sent what had not been stored, under another event_id. */
  readonly renamed: readonly Exchange[];
  /** The last requests with events that their camera gave up before they were stored, or rejected for good. */
  readonly lost: readonly Exchange[];
}

export function trafficOf({ exchanges, endedAt }: Recording): Traffic {
  const sendings = exchanges.flatMap((exchange) =>
    exchange.events.map((event) => ({ event, exchange, outcome: outcomeOf(exchange, event) })),
  );
  const isCorrected = ({ id, revision }: SentEvent) =>
    sendings.some(
      ({ event, outcome }) => outcome === 'stored' && event.id === id && event.revision > revision,
    );
  const sameContent = Map.groupBy(sendings, ({ event }) => event.content);
  const againAs = ({ event, exchange }: Sending) =>
    sameContent
      .get(event.content)
      ?.find((one) => one.event.id !== event.id && one.exchange.at >= endOf(exchange));
  const isLost = ({ event, exchange }: Sending) => {
    if (isCorrected(event)) return false;
    const end = endOf(exchange);
    if (exchange.status === 401 && endedAt >= end + BACK_AFTER_401_MS) return true;
    // A camera that sends nothing else may have been switched off.
    const later = exchanges.filter(
      ({ at, events }) => at > end && events.some(({ source }) => source === event.source),
    );
    return later.length >= LATER_REQUESTS;
  };
  const histories = [...Map.groupBy(sendings, ({ event }) => event.key).values()];
  const open = histories.filter((history) => history.every(({ outcome }) => outcome === 'open'));
  const last = open.map((history) => history.at(-1)!);
  return {
    exchanges,
    resends: histories.flatMap(resendsIn),
    renamed: last.flatMap((one) => againAs(one)?.exchange ?? []),
    lost: last.flatMap((one) => (againAs(one) === undefined && isLost(one) ? one.exchange : [])),
  };
}

function resendsIn(history: History): Resend[] {
  const settled = history.findIndex(({ outcome }) => outcome !== 'open');
  const open = settled < 0 ? history : history.slice(0, settled + 1);
  return open.slice(1).flatMap((after, i) => {
    const before = open[i]!;
    return after.exchange.at < endOf(before.exchange) ? [] : [{ before, after, history }];
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
