import { THRESHOLDS } from '../../health/thresholds.ts';
import type { Exchange, Recording } from './exchange.ts';
import { endOf, type Resend, type Traffic, trafficOf } from './traffic.ts';

/** What a check finds in a recording. */
interface Finding {
  /** The requests that fail it. */
  readonly shownBy: readonly Exchange[];
  /** The message of the first request. */
  readonly detail?: string | undefined;
  /** Whether the camera had occasion to fail. */
  readonly isSeen: boolean;
}

type Find = (traffic: Traffic) => Finding;

/** A request may have an event and its correction under one key. */
const isChanged = ({ before, after }: Resend) =>
  before.exchange.events.every(({ content }) => content !== after.event.content);
const waitS = ({ before, after }: Resend) => (after.exchange.at - endOf(before.exchange)) / 1000;
const seconds = (value: number) => `${value.toFixed(1)} s`;

/** @param found those of the resends that fail. */
const among = (resends: readonly Resend[], found: readonly Resend[]): Finding => ({
  shownBy: found.map(({ after }) => after.exchange),
  isSeen: resends.length > 0,
});

const renamed: Find = ({ resends, renamed }) => ({ shownBy: renamed, isSeen: resends.length > 0 });

const changed: Find = ({ resends }) => among(resends, resends.filter(isChanged));

/** The share of a wait that is enough, so that a slightly fast clock is not too early. */
const EARLY_SHARE = 0.95;

const early: Find = ({ resends }) => {
  const told = resends.filter(({ before }) => (before.exchange.toldS ?? 0) > 0);
  const found = told.filter((one) => waitS(one) < one.before.exchange.toldS! * EARLY_SHARE);
  const detail = found.map((one) => `${seconds(waitS(one))} instead of ${one.before.exchange.toldS} s`)[0];
  return { ...among(told, found), detail };
};

/** A shorter first wait does not count: this camera retries at once. */
const LEAST_WAIT_S = 0.4;
/** After three rejections the wait must have grown by this, or be close to the 4 s of a camera that doubles it. */
const GROWTH = 1.3;
const GROWN_S = 3.5;
const REJECTIONS = 3;

/** By 503 without Retry-After alone: after a lost connection, trying once more at once is common and harmless. */
const hasty: Find = ({ resends }) => {
  const busy = resends.filter(({ before }) => before.exchange.fault === 'busy');
  const runs = [...Map.groupBy(busy, ({ history }) => history).values()];
  const isHasty = (run: readonly Resend[]) => {
    const waits = run.map(waitS);
    const isFlat = waits.at(-1)! < waits[0]! * GROWTH && waits.at(-1)! < GROWN_S;
    return waits.some((wait) => wait < LEAST_WAIT_S) || (waits.length >= REJECTIONS && isFlat);
  };
  const found = runs.find(isHasty) ?? [];
  return {
    shownBy: found.map(({ before }) => before.exchange),
    detail: `it waited ${found.map((one) => seconds(waitS(one))).join(', ')}`,
    isSeen: runs.some(({ length }) => length >= REJECTIONS),
  };
};

/** This many requests of one event each in this time: more events were waiting. */
const SINGLES = 20;
const SINGLES_MS = 5_000;

const singles: Find = ({ exchanges }) => {
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

const looped: Find = ({ exchanges }) => {
  const lastAt = new Map(exchanges.map(({ digest, at }) => [digest, at]));
  const rejected = exchanges.filter(({ status, digest }) => status === 400 && digest !== undefined);
  return {
    shownBy: rejected.filter((one) => lastAt.get(one.digest)! >= endOf(one)),
    isSeen: rejected.some((one) => one.fault === 'invalid' && endOf(one) < exchanges.at(-1)!.at),
  };
};

const isSaved = ({ history }: Resend) => history.some(({ outcome }) => outcome === 'stored');

const lostAfter401: Find = ({ lost, resends }) => ({
  shownBy: lost.filter(({ status }) => status === 401),
  isSeen: resends.some((one) => isSaved(one) && one.before.exchange.status === 401),
});

/** An eot and a payload have checks of their own. */
const lost: Find = ({ exchanges, lost, resends }) => {
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
const wrongEot: Find = ({ exchanges }) => {
  const invalid = exchanges.filter(({ faults }) => faults.some(({ path }) => path === 'eot'));
  const sent = exchanges.flatMap((exchange) =>
    exchange.events.map(({ source, eotMs }) => ({ source, exchange, lateMs: exchange.bodyMs! - eotMs })),
  );
  const clocks = [...Map.groupBy(sent, ({ source }) => source).values()]
    .filter((own) => new Set(own.map(({ exchange }) => exchange)).size >= CLOCK_REQUESTS)
    .map((own) => own.reduce((least, one) => (one.lateMs < least.lateMs ? one : least)));
  const off = clocks.filter(({ lateMs }) => Math.abs(lateMs) > THRESHOLDS.clock_s * 1000);
  const [detail] = off.map(({ source, lateMs }) => `eot is ${seconds(lateMs / 1000)} behind at ${source}`);
  const shownBy = [...invalid, ...off.map(({ exchange }) => exchange)];
  return { shownBy, detail: invalid.length > 0 ? 'an invalid eot' : detail, isSeen: clocks.length > 0 };
};

const oddFields: Find = ({ exchanges }) => {
  const oddIn = ({ events, faults }: Exchange) =>
    events.flatMap(({ odd }) => odd)[0] ?? faults.find(({ path }) => path.startsWith('payload'))?.path;
  const shownBy = exchanges.filter((one) => oddIn(one) !== undefined);
  const isSeen = exchanges.some(({ events }) => events.length > 0);
  return { shownBy, detail: shownBy.map(oddIn)[0], isSeen };
};

/** The ten checks, in the order of the verdict: how each finds the requests that fail it, and the advice for a camera. */
const CHECKS = {
  same_event_id: [
    renamed,
    'Make the event_id once, when the event is detected, and send it again with that.',
  ],
  same_content: [changed, 'Send exactly the same event again, with its eot.'],
  waits_as_told: [early, 'Wait as long as Retry-After says.'],
  backs_off: [hasty, 'After 503 without Retry-After wait 1 s, and twice as long each time, up to 30 s.'],
  batches: [singles, 'Put the events that are waiting into one request.'],
  gives_up_on_400: [looped, 'After a 400 drop or correct the events that it names, and send the others.'],
  survives_401: [lostAfter401, 'Keep events after a 401, and send them again until the token is accepted.'],
  true_eot: [wrongEot, 'Send times with an offset, soon, and set the clock by NTP.'],
  payload_types: [oddFields, "Give the known fields of a payload the types that the vendor's guide has."],
  loses_nothing: [
    lost,
    'Keep each event until its 202, and halve a batch after a 413 or a 400 that names no event.',
  ],
} as const satisfies Record<string, readonly [Find, rule: string]>;

export type CheckName = keyof typeof CHECKS;
export const CHECK_NAMES = Object.keys(CHECKS) as CheckName[];

export interface Check {
  readonly name: CheckName;
  readonly verdict: 'pass' | 'fail' | 'not seen';
  readonly message: string;
}

export interface Verdict {
  /** Whether every check has passed. */
  readonly certificate: boolean;
  readonly checks: readonly Check[];
}

/** @returns how a camera did. Pure: the same recording gets the same verdict. */
export function judge(recording: Recording): Verdict {
  const traffic = trafficOf(recording);
  const checks = CHECK_NAMES.map((name): Check => {
    const [find, rule] = CHECKS[name];
    const { shownBy, detail, isSeen } = find(traffic);
    const [first] = shownBy;
    if (first === undefined && isSeen) return { name, verdict: 'pass', message: 'The camera does this.' };
    if (first === undefined)
      return { name, verdict: 'not seen', message: `${rule} There was no occasion yet: let it send more.` };
    const at = first.bodyMs !== undefined ? ` at ${new Date(first.bodyMs).toISOString().slice(11, 19)}Z` : '';
    const number = recording.exchanges.indexOf(first) + 1;
    const shown = `request ${number}${at}${detail === undefined ? '' : `: ${detail}`}`;
    return { name, verdict: 'fail', message: `${rule} First seen otherwise in ${shown}.` };
  });
  return { certificate: checks.every(({ verdict }) => verdict === 'pass'), checks };
}
