import { THRESHOLDS } from '../../health/thresholds.ts';
import type { Exchange } from './exchange.ts';
import { endOf, type Resend, type Traffic } from './traffic.ts';

/** What a check finds in a recording. */
interface Finding {
  /** The requests that fail it. */
  readonly shownBy: readonly Exchange[];
  /** The message of the first request. */
  readonly detail?: string | undefined;
  /** Whether the camera had occasion to fail. */
  readonly isSeen: boolean;
}

export type Judge = (traffic: Traffic) => Finding;

export const renamed: Judge = ({ resends }) => {
  const found = resends.filter(({ before, after }) => before.event.key !== after.event.key);
  return { shownBy: found.map(({ after }) => after.exchange), isSeen: resends.length > 0 };
};

export const changed: Judge = ({ resends }) => {
  const again = resends.filter(({ before, after }) => before.event.key === after.event.key);
  // A request may have an event and its correction under one key.
  const found = again.filter(({ before, after }) =>
    before.exchange.events.every(({ content }) => content !== after.event.content),
  );
  return { shownBy: found.map(({ after }) => after.exchange), isSeen: again.length > 0 };
};

/** The share of a wait that is enough, so that a slightly fast clock is not too early. */
const EARLY_SHARE = 0.95;

export const early: Judge = (traffic) => {
  const told = traffic.exchanges.filter(({ toldS = 0, events }) => toldS > 0 && events.length > 0);
  const pairs = told.flatMap((before) => {
    const nexts = before.events.flatMap((event) => traffic.next(event, before) ?? []);
    const [after] = nexts.sort((a, b) => a.at - b.at);
    return after === undefined ? [] : { before, after, waitS: waitS(before, after) };
  });
  const found = pairs.filter(({ before, waitS }) => waitS < before.toldS! * EARLY_SHARE);
  const detail = found.map(({ before, waitS }) => `${waitS.toFixed(1)} s instead of ${before.toldS} s`)[0];
  return { shownBy: found.map(({ after }) => after), detail, isSeen: pairs.length > 0 };
};

function waitS(before: Exchange, after: Exchange): number {
  return (after.at - endOf(before)) / 1000;
}

/** A shorter first wait does not count: this camera retries at once. */
const LEAST_WAIT_S = 0.4;
/** After three rejections the wait must have grown by this, or be close to the 4 s of a camera that doubles it. */
const GROWTH = 1.3;
const GROWN_S = 3.5;
const REJECTIONS = 3;

/** By 503 without Retry-After alone: after a lost connection, trying once more at once is common and harmless. */
export const hasty: Judge = (traffic) => {
  // By the first event of the first request: it may come again behind others.
  const runs = new Map<unknown, Exchange[]>();
  for (const one of traffic.exchanges.filter(({ fault }) => fault === 'busy')) {
    const histories = one.events.map((event) => traffic.historyOf(event));
    const known = histories.find((history) => runs.has(history)) ?? histories[0];
    runs.set(known, [...(runs.get(known) ?? []), one]);
  }
  const judged = [...runs.values()].map((run) => {
    const all = [...run, traffic.next(run[0]!.events[0]!, run.at(-1)!) ?? []].flat();
    return { run, waits: all.slice(1).map((after, i) => waitS(all[i]!, after)) };
  });
  const found = judged.find(({ waits }) => waits.some((wait) => wait < LEAST_WAIT_S) || isFlat(waits));
  const detail = `it waited ${found?.waits.map((wait) => `${wait.toFixed(1)} s`).join(', ')}`;
  return {
    shownBy: found?.run ?? [],
    detail,
    isSeen: judged.some(({ waits }) => waits.length >= REJECTIONS),
  };
};

function isFlat(waits: readonly number[]): boolean {
  const [first = 0, last = 0] = [waits[0], waits.at(-1)];
  return waits.length >= REJECTIONS && last < first * GROWTH && last < GROWN_S;
}

/** This many requests of one event each in this time: more events were waiting. */
const SINGLES = 20;
const SINGLES_MS = 5_000;

export const singles: Judge = ({ exchanges }) => {
  const cameras = Map.groupBy(
    exchanges.filter(({ events }) => events.length > 0),
    ({ events }) => events[0]!.source,
  );
  const found = [...cameras.values()].flatMap((own) =>
    own.filter((first, i) => {
      const run = own.slice(i, i + SINGLES);
      const isFast = run.length === SINGLES && run.at(-1)!.at - first.at < SINGLES_MS;
      return isFast && run.every(({ events }) => events.length === 1);
    }),
  );
  return { shownBy: found, isSeen: exchanges.some(({ events }) => events.length > 1) };
};

export const looped: Judge = ({ exchanges }) => {
  // An event that is named is dropped from a batch, which may then come in another order.
  const batchOf = ({ events, digest }: Exchange) =>
    events
      .map(({ content }) => content)
      .sort()
      .join() || digest;
  const lastAt = new Map(exchanges.map((one) => [batchOf(one), one.at]));
  const rejected = exchanges.filter(({ status, digest }) => status === 400 && digest !== '');
  return {
    shownBy: rejected.filter((one) => lastAt.get(batchOf(one))! >= endOf(one)),
    isSeen: rejected.some((one) => one.fault === 'invalid' && endOf(one) < exchanges.at(-1)!.at),
  };
};

export const lostAfter401: Judge = (traffic) => ({
  shownBy: traffic.lost.filter(({ status }) => status === 401),
  isSeen: traffic.resends.some((one) => isSaved(one) && one.before.exchange.status === 401),
});

function isSaved({ history }: Resend): boolean {
  return history.some(({ outcome }) => outcome === 'stored');
}

/** An eot and a payload have checks of their own. */
export const lost: Judge = (traffic) => {
  const faultOf = ({ faults }: Exchange) => faults.find(({ path }) => !/^(eot|payload)\b/.test(path));
  const invalid = traffic.exchanges.filter((one) => faultOf(one) !== undefined);
  const fault = invalid.map(faultOf)[0];
  const saved = new Set(traffic.resends.filter(isSaved).map(({ before }) => before.exchange.fault));
  return {
    shownBy: [...invalid, ...traffic.lost.filter(({ status }) => status !== 401)],
    detail: fault && `an invalid event, ${fault.path} ${fault.message}`,
    isSeen: saved.isSupersetOf(new Set(['dropped', 'unnamed', 'too_large'] as const)),
  };
};

/** How many requests of a camera it takes to judge its clock. */
const CLOCK_REQUESTS = 5;

/** Network and detection only add to the time from eot to receipt: the smallest difference is the clock's. */
export const wrongEot: Judge = ({ exchanges }) => {
  const invalid = exchanges.filter(({ faults }) => faults.some(({ path }) => path === 'eot'));
  const sent = exchanges.flatMap((exchange) =>
    exchange.events.map(({ source, eotMs }) => ({ source, exchange, lateMs: exchange.bodyMs - eotMs })),
  );
  const clocks = [...Map.groupBy(sent, ({ source }) => source).values()]
    .filter((own) => new Set(own.map(({ exchange }) => exchange)).size >= CLOCK_REQUESTS)
    .map((own) => own.reduce((least, one) => (one.lateMs < least.lateMs ? one : least)));
  const off = clocks.filter(({ lateMs }) => Math.abs(lateMs) > THRESHOLDS.clock_s * 1000);
  const [{ source, lateMs } = { source: '', lateMs: 0 }] = off;
  const seconds = (Math.abs(lateMs) / 1000).toFixed(1);
  const isOff = `the clock of ${source} is ${seconds} s ${lateMs > 0 ? 'behind' : 'ahead'}`;
  return {
    shownBy: [...invalid, ...off.map(({ exchange }) => exchange)],
    detail: invalid.length > 0 ? 'an invalid eot' : isOff,
    isSeen: clocks.length > 0,
  };
};

export const oddFields: Judge = ({ exchanges }) => {
  const kindsOf = ({ events, faults }: Exchange) => [
    ...events.flatMap(({ odd }) => odd),
    ...faults.flatMap(({ path, message }) => (path.startsWith('payload') ? `${path} ${message}` : [])),
  ];
  const shownBy = exchanges.filter((one) => kindsOf(one).length > 0);
  const detail = shownBy.map((one) => [...new Set(kindsOf(one))].join('; '))[0];
  return { shownBy, detail, isSeen: exchanges.some(({ events }) => events.length > 0) };
};
