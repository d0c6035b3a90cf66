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

/** Two events may say the same. */
const isRenamed = ({ before, after }: Resend) =>
  after.exchange.events.every(({ key }) => key !== before.event.key);
const requestOf = ({ after }: Resend) => after.exchange;
const waitS = ({ before, after }: Pick<Resend, 'before' | 'after'>) =>
  (after.exchange.at - endOf(before.exchange)) / 1000;
const seconds = (value: number) => `${value.toFixed(1)} s`;

export const renamed: Judge = ({ resends }) => ({
  shownBy: resends.filter(isRenamed).map(requestOf),
  isSeen: resends.length > 0,
});

export const changed: Judge = ({ resends }) => {
  const again = resends.filter((one) => !isRenamed(one));
  // A request may have an event and its correction under one key.
  const found = again.filter(({ before, after }) =>
    before.exchange.events.every(({ content }) => content !== after.event.content),
  );
  return { shownBy: found.map(requestOf), isSeen: again.length > 0 };
};

/** The share of a wait that is enough, so that a slightly fast clock is not too early. */
const EARLY_SHARE = 0.95;

export const early: Judge = ({ resends }) => {
  const told = resends.filter(({ before }) => (before.exchange.toldS ?? 0) > 0);
  const found = told.filter((one) => waitS(one) < one.before.exchange.toldS! * EARLY_SHARE);
  const detail = found.map((one) => `${seconds(waitS(one))} instead of ${one.before.exchange.toldS} s`)[0];
  return { shownBy: found.map(requestOf), detail, isSeen: told.length > 0 };
};

/** A shorter first wait does not count: this camera retries at once. */
const LEAST_WAIT_S = 0.4;
/** After three rejections the wait must have grown by this, or be close to the 4 s of a camera that doubles it. */
const GROWTH = 1.3;
const GROWN_S = 3.5;
const REJECTIONS = 3;

/** By 503 without Retry-After alone: after a lost connection, trying once more at once is common and harmless. */
export const hasty: Judge = ({ resends }) => {
  const busy = resends.filter(({ before }) => before.exchange.fault === 'busy');
  const runs = [...Map.groupBy(busy, ({ history }) => history).values()].map((run) => ({
    shownBy: run.map(({ before }) => before.exchange),
    waits: run.map(waitS),
  }));
  const found = runs.find(({ waits }) => waits.some((wait) => wait < LEAST_WAIT_S) || isFlat(waits));
  return {
    shownBy: found?.shownBy ?? [],
    detail: `it waited ${found?.waits.map(seconds).join(', ')}`,
    isSeen: runs.some(({ waits }) => waits.length >= REJECTIONS),
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
  const withEvents = exchanges.filter(({ events }) => events.length > 0);
  const cameras = Map.groupBy(withEvents, ({ events }) => events[0]!.source);
  const found = [...cameras.values()].flatMap((own) =>
    own.filter((first, i) => {
      const run = own.slice(i, i + SINGLES);
      const isFast = run.length === SINGLES && run.at(-1)!.at - first.at < SINGLES_MS;
      return isFast && run.every(({ events }) => events.length === 1);
    }),
  );
  return { shownBy: found, isSeen: withEvents.some(({ events }) => events.length > 1) };
};

export const looped: Judge = ({ exchanges }) => {
  // An event that is named is dropped from a batch, which may then come in another order.
  const contentsOf = ({ events }: Exchange) => events.map(({ content }) => content).sort();
  const batchOf = (one: Exchange) => contentsOf(one).join() || one.digest;
  const lastAt = new Map(exchanges.map((one) => [batchOf(one), one.at]));
  const rejected = exchanges.filter(({ status, digest }) => status === 400 && digest !== '');
  return {
    shownBy: rejected.filter((one) => lastAt.get(batchOf(one))! >= endOf(one)),
    isSeen: rejected.some((one) => one.fault === 'invalid' && endOf(one) < exchanges.at(-1)!.at),
  };
};

const isSaved = ({ history }: Resend) => history.some(({ outcome }) => outcome === 'stored');

export const lostAfter401: Judge = ({ lost, resends }) => ({
  shownBy: lost.filter(({ status }) => status === 401),
  isSeen: resends.some((one) => isSaved(one) && one.before.exchange.status === 401),
});

/** An eot and a payload have checks of their own. */
export const lost: Judge = ({ exchanges, lost, resends }) => {
  const faultOf = ({ faults }: Exchange) => faults.find(({ path }) => !/^(eot|payload)\b/.test(path));
  const invalid = exchanges.filter((one) => faultOf(one) !== undefined);
  const fault = invalid.map(faultOf)[0];
  const saved = new Set(resends.filter(isSaved).map(({ before }) => before.exchange.fault));
  return {
    shownBy: [...invalid, ...lost.filter(({ status }) => status !== 401)],
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
  const isOff = `the clock of ${source} is ${seconds(Math.abs(lateMs) / 1000)} ${lateMs > 0 ? 'behind' : 'ahead'}`;
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
