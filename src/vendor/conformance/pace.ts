import { counted } from '../../base/units.ts';
import type { Exchange } from './exchange.ts';
import {
  EARLY_SHARE,
  endOf,
  failIf,
  type History,
  type Judgement,
  notSeen,
  passIf,
  type Traffic,
} from './traffic.ts';

/** How fast, how often and over how many connections a camera sends. */

export function waitsAsTold(traffic: Traffic): Judgement {
  const told = traffic.exchanges.filter(
    ({ toldS = 0, events, status }) => status !== 202 && toldS > 0 && events.length > 0,
  );
  const pairs = told.flatMap((exchange) => {
    const nexts = exchange.events.flatMap((event) => traffic.next({ event, exchange })?.exchange ?? []);
    const [next] = nexts.sort((a, b) => a.at - b.at);
    return next === undefined || traffic.wasOff(exchange, next) ? [] : [[exchange, next] as const];
  });
  const early = pairs.filter(([before, after]) => waitS(before, after) < before.toldS! * EARLY_SHARE);
  const waited = early
    .slice(0, 1)
    .map(([before, after]) => `${words([waitS(before, after)])} instead of ${before.toldS} s`);
  return (
    failIf(early.flat(), `Events came again after ${waited}: wait as long as Retry-After says.`) ??
    passIf(pairs.flat(), `Waited ${counted(pairs.length, 'time')} as long as Retry-After said.`) ??
    notSeen('Nothing came again after a Retry-After yet: let the camera send more.', told)
  );
}

function waitS(before: Exchange, after: Exchange): number {
  return (after.at - endOf(before)) / 1000;
}

function words(waits: readonly number[]): string {
  return waits.map((wait) => `${wait.toFixed(1)} s`).join(', ');
}

/** A shorter first wait does not count: this camera retries at once. */
const LEAST_WAIT_S = 0.4;
/** After three refusals the wait must have grown by this, or be close to the 4 s of a camera that doubles it. */
const GROWTH = 1.3;
const GROWN_S = 3.5;

/** Judged by 503 without Retry-After alone: after a lost connection, trying once more at once is common and harmless. */
export function backsOff(traffic: Traffic): Judgement {
  const busy = traffic.exchanges.filter(({ fault }) => fault === 'busy');
  // By the first event of the first request: it may come again behind others.
  const refusedWith = new Map<History, Exchange[]>();
  for (const one of busy) {
    const histories = one.events.map((event) => traffic.historyOf(event));
    const known = histories.find((history) => refusedWith.has(history)) ?? histories[0]!;
    refusedWith.set(known, [...(refusedWith.get(known) ?? []), one]);
  }
  const runs = [...refusedWith].map(([[first], refused]) => {
    const next = traffic.next({ event: first!.event, exchange: refused.at(-1)! });
    return next === undefined ? refused : [...refused, next.exchange];
  });
  const judged = runs
    .filter((run) => run.length > 1 && !run.some((one, i) => i > 0 && traffic.wasOff(run[i - 1]!, one)))
    .map((run) => ({ run, waits: run.slice(1).map((one, i) => waitS(run[i]!, one)) }));
  const hasty = judged.find(({ waits }) => waits.some((wait) => wait < LEAST_WAIT_S) || isFlat(waits));
  const whole = judged.find(({ waits }) => waits.length >= 3);
  const waited = `After 503s without Retry-After it waited ${words((hasty ?? whole)?.waits ?? [])}`;
  return (
    failIf(hasty?.run ?? [], `${waited}: wait 1 s, and twice as long each time, up to 30 s.`) ??
    passIf(whole?.run ?? [], `${waited}.`) ??
    notSeen(
      'The same events did not come again after three 503 without Retry-After yet: let the camera send more.',
      judged.flatMap(({ run }) => run),
    )
  );
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

export function batches({ exchanges }: Traffic): Judgement {
  const cameras = Map.groupBy(exchanges, ({ events }) => events[0]?.source);
  cameras.delete(undefined);
  const largest = exchanges.reduce<Exchange | undefined>(
    (most, one) => (one.events.length > (most?.events.length ?? 1) ? one : most),
    undefined,
  );
  return (
    failIf(
      [...cameras.values()].map(singlesIn).find(({ length }) => length > 0) ?? [],
      `${SINGLES} requests within ${SINGLES_MS / 1000} s had one event each, one right after the other: put the waiting events into one request.`,
    ) ??
    passIf(
      largest === undefined ? [] : [largest],
      `Up to ${largest?.events.length} events in one request.`,
    ) ??
    notSeen('No request with several events yet: make the camera send more.')
  );
}

/** @returns the first such requests of a camera; none where there are none. */
function singlesIn(exchanges: readonly Exchange[]): Exchange[] {
  const singles: Exchange[] = [];
  for (const [i, exchange] of exchanges.entries()) {
    if (exchange.events.length > 1) singles.length = 0;
    else if (exchange.at - endOf(exchanges[i - 1] ?? exchange) < AT_ONCE_MS) singles.push(exchange);
    if (singles.length > SINGLES) singles.shift();
    if (singles.length === SINGLES && exchange.at - singles[0]!.at < SINGLES_MS) return singles;
  }
  return [];
}

/** A connection counts as kept from this many requests on; it takes this many requests in all to judge. */
const KEPT_REQUESTS = 3;
const JUDGED_REQUESTS = 10;
/** The share of connections that may end early for other reasons. */
const SHORT_SHARE = 0.2;

/** Connections count that the camera ended: after a refusal, a reset, pipelining or a long pause the box ends them. */
export function keepsConnections({ connections, exchanges }: Traffic): Judgement {
  const short = connections.filter(
    ({ endedBy, requests }) => endedBy === 'camera' && requests < KEPT_REQUESTS,
  );
  const isHabit = short.length >= KEPT_REQUESTS && short.length > exchanges.length * SHORT_SHARE;
  const of = (numbers: readonly { readonly number: number }[]) =>
    exchanges.filter(({ connection }) => numbers.some(({ number }) => number === connection));
  const most = connections.toSorted((a, b) => b.requests - a.requests).slice(0, 1);
  const requests = most[0]?.requests ?? 0;
  const isJudged = requests >= KEPT_REQUESTS && exchanges.length >= JUDGED_REQUESTS;
  const pipelined = exchanges.filter(({ isPipelined }) => isPipelined);
  return (
    failIf(
      pipelined,
      `${counted(pipelined.length, 'request')} came before the answer to the one in front (pipelining), so the box ended the connection: wait for each answer, or use another connection.`,
    ) ??
    failIf(
      isHabit ? of(short.slice(0, 3)) : [],
      `The camera ended ${counted(short.length, 'connection')} after one or two requests: keep one open and use it again.`,
    ) ??
    passIf(
      isJudged ? of(most).slice(-2) : [],
      `${counted(exchanges.length, 'request')} over ${counted(connections.length, 'connection')}, up to ${requests} over one.`,
    ) ??
    notSeen('Too few requests yet: let the camera send more.')
  );
}
