import { counted } from '../../base/units.ts';
import type { Exchange } from './exchange.ts';
import { endOf, fail, type Judgement, notSeen, pass, type Traffic } from './traffic.ts';

/** How fast, how often and over how many connections a camera sends. */

/** The share of a wait that is enough, so that a slightly fast clock is not too early. */
const EARLY_SHARE = 0.95;

export function waitsAsTold(traffic: Traffic): Judgement {
  const told = traffic.exchanges.filter(
    ({ toldS = 0, events, status }) => status !== 202 && toldS > 0 && events.length > 0,
  );
  const pairs = told.flatMap((exchange) => {
    const nexts = exchange.events.flatMap((event) => traffic.next({ event, exchange })?.exchange ?? []);
    if (nexts.length === 0) return [];
    const next = nexts.reduce((first, one) => (one.at < first.at ? one : first));
    return [{ exchange, next, waitS: (next.at - endOf(exchange)) / 1000 }];
  });
  const early = pairs.filter(({ exchange, waitS }) => waitS < exchange.toldS! * EARLY_SHARE);
  const [first] = early;
  if (first !== undefined)
    return fail(
      `Events came again after ${first.waitS.toFixed(1)} s instead of ${first.exchange.toldS} s: wait as long as Retry-After says.`,
      early.flatMap(({ exchange, next }) => [exchange, next]),
    );
  if (pairs.length === 0)
    return notSeen('Nothing came again after a Retry-After yet: let the camera send more.', told);
  return pass(
    `Waited ${counted(pairs.length, 'time')} as long as Retry-After said.`,
    pairs.flatMap(({ exchange, next }) => [exchange, next]),
  );
}

/** A shorter first wait does not count: this camera retries at once. */
const LEAST_WAIT_S = 0.4;
/** After three refusals the wait must have grown by this, or be close to the 4 s of a camera that doubles it. */
const GROWTH = 1.3;
const GROWN_S = 3.5;

/** Judged by 503 without Retry-After alone: after a lost connection, trying once more at once is common and harmless. */
export function backsOff(traffic: Traffic): Judgement {
  const isBusy = ({ fault }: Exchange) => fault === 'busy';
  const runs = traffic.exchanges.filter(isBusy).flatMap((exchange) => {
    const event = exchange.events[0]!;
    // Each run once, from its first refusal.
    if (traffic.byKey.get(event.key)?.find((one) => isBusy(one.exchange))?.exchange !== exchange) return [];
    const run = [exchange];
    for (let last = exchange; isBusy(last); run.push(last)) {
      const next = traffic.next({ event, exchange: last });
      if (next === undefined) break;
      last = next.exchange;
    }
    return run.length > 1 ? [run] : [];
  });
  const judged = runs.map((run) => ({
    run,
    waits: run.slice(1).map((one, i) => (one.at - endOf(run[i]!)) / 1000),
  }));
  const hasty = judged.filter(({ waits }) => waits.some((wait) => wait < LEAST_WAIT_S) || isFlat(waits));
  const words = (waits: readonly number[]) => waits.map((wait) => `${wait.toFixed(1)} s`).join(', ');
  const [first] = hasty;
  if (first !== undefined)
    return fail(
      `After 503s without Retry-After it waited ${words(first.waits)}: wait 1 s, and twice as long each time, up to 30 s.`,
      first.run,
    );
  const whole = judged.find(({ waits }) => waits.length >= 3);
  if (whole === undefined)
    return notSeen(
      'The same events did not come again after three 503 without Retry-After yet: let the camera send more.',
      judged.flatMap(({ run }) => run),
    );
  return pass(`After 503s without Retry-After it waited ${words(whole.waits)}.`, whole.run);
}

function isFlat(waits: readonly number[]): boolean {
  if (waits.length < 3) return false;
  const [first, last] = [waits[0]!, waits.at(-1)!];
  return last < first * GROWTH && last < GROWN_S;
}

/** This many requests of one event each in this time, each right after the previous answer: more events were waiting. */
const SINGLES = 20;
const SINGLES_MS = 10_000;
const AT_ONCE_MS = 200;

export function batches(traffic: Traffic): Judgement {
  const cameras = new Map<string, { last: Exchange; singles: Exchange[] }>();
  for (const exchange of traffic.exchanges) {
    const source = exchange.events[0]?.source;
    if (source === undefined) continue;
    const camera = cameras.get(source) ?? { last: exchange, singles: [] };
    cameras.set(source, camera);
    const { singles, last } = camera;
    camera.last = exchange;
    if (exchange.events.length > 1) singles.length = 0;
    else if (exchange.at - endOf(last) < AT_ONCE_MS) singles.push(exchange);
    if (singles.length > SINGLES) singles.shift();
    if (singles.length === SINGLES && exchange.at - singles[0]!.at < SINGLES_MS) {
      return fail(
        `${SINGLES} requests within ${SINGLES_MS / 1000} s had one event each, one right after the other: put the waiting events into one request.`,
        singles,
      );
    }
  }
  const largest = traffic.exchanges.reduce<Exchange | undefined>(
    (most, one) => (one.events.length > (most?.events.length ?? 1) ? one : most),
    undefined,
  );
  if (largest === undefined) return notSeen('No request with several events yet: make the camera send more.');
  return pass(`Up to ${largest.events.length} events in one request.`, [largest]);
}

/** A connection counts as kept from this many requests on; it takes this many requests in all to judge. */
const KEPT_REQUESTS = 3;
const JUDGED_REQUESTS = 10;
/** The share of connections that may end early for other reasons. */
const SHORT_SHARE = 0.2;

/** Only connections that the camera ended count: after a refusal, a reset or a long pause the box ends them. */
export function keepsConnections({ connections, exchanges }: Traffic): Judgement {
  const short = connections.filter(
    ({ endedBy, requests }) => endedBy === 'camera' && requests < KEPT_REQUESTS,
  );
  const isHabit = short.length >= KEPT_REQUESTS && short.length > exchanges.length * SHORT_SHARE;
  const of = (numbers: readonly { readonly number: number }[]) =>
    exchanges.filter(({ connection }) => numbers.some(({ number }) => number === connection));
  if (isHabit)
    return fail(
      `The camera ended ${counted(short.length, 'connection')} after one or two requests: keep one open and use it again.`,
      of(short.slice(0, 3)),
    );
  const kept = connections.find(({ requests }) => requests >= KEPT_REQUESTS);
  if (kept === undefined || exchanges.length < JUDGED_REQUESTS)
    return notSeen('Too few requests yet: let the camera send more.');
  const most = connections.reduce((best, one) => (one.requests > best.requests ? one : best));
  return pass(
    `${counted(exchanges.length, 'request')} over ${counted(connections.length, 'connection')}, up to ${most.requests} over one.`,
    of([most]).slice(-2),
  );
}
