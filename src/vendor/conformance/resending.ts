import { counted } from '../../base/units.ts';
import type { Exchange } from './exchange.ts';
import {
  endOf,
  failIf,
  type History,
  type Judgement,
  type LossCause,
  notSeen,
  passIf,
  type Sending,
  type Traffic,
} from './traffic.ts';

/** What a camera does with events that it has no 202 for. */

const NOTHING_CAME_AGAIN = 'No refused or lost event came again yet: let the camera send more.';

export function sameEventId(traffic: Traffic): Judgement {
  const again = resent(traffic);
  const renamed = again.filter(({ before, after }) => before.event.key !== after.event.key);
  const { before, after } = renamed[0] ?? {};
  return (
    failIf(
      requestsOf(renamed),
      `${counted(renamed.length, 'resend')} had another event_id, such as ${after?.event.eventId} for ${before?.event.eventId}: create the id once, when the event is detected, and keep it.`,
    ) ??
    cameAgain(again, 'without a 202 came again under the same event_id.') ??
    notSeen(NOTHING_CAME_AGAIN)
  );
}

/** Changes after a 202 are corrections, which raises_revision judges; what has another id is the same in all else. */
export function sameContent(traffic: Traffic): Judgement {
  const again = resent(traffic).filter(({ before, after }) => before.event.key === after.event.key);
  const changed = again.filter(({ before, after }) => !contentsOf(before).includes(after.event.content));
  return (
    failIf(
      requestsOf(changed),
      `${counted(changed.length, 'event')} had different content when sent again: resend exactly what was sent, including the eot.`,
    ) ??
    cameAgain(again, 'came again unchanged.') ??
    notSeen(NOTHING_CAME_AGAIN)
  );
}

export function losesNothing(traffic: Traffic): Judgement {
  // An eot and a payload have checks of their own.
  const invalid = traffic.exchanges.flatMap((exchange) => {
    const faults = exchange.faults.filter(({ path }) => !/^(eot|payload)\b/.test(path));
    return faults.map((fault) => ({ exchange, fault }));
  });
  const { path, message } = invalid[0]?.fault ?? {};
  const saved = resentUntilStored(traffic, () => true);
  const open = traffic.open().length;
  const waiting = open > 0 ? ` ${counted(open, 'event')} still on the way at the end.` : '';
  return (
    failIf(
      invalid.map(({ exchange }) => exchange),
      `The box refused events that really are invalid, and so are lost. First: ${path} ${message}.`,
    ) ??
    lost(traffic, 'retryable', 'after a refusal or a lost answer: keep each event until its 202.') ??
    cameAgain(saved, 'without a 202 came again until they were stored.', waiting) ??
    notSeen(`${NOTHING_CAME_AGAIN}${waiting}`)
  );
}

export function givesUpOn400(traffic: Traffic): Judgement {
  const refused = traffic.exchanges.filter(({ status, digest }) => status === 400 && digest !== undefined);
  const later = laterSame(traffic);
  const looped = refused.flatMap((one) => {
    const again = later(one);
    return again === undefined ? [] : [one, again];
  });
  const last = traffic.exchanges.at(-1)?.at ?? 0;
  const survived = refused.filter((one) => one.named.length > 0 && endOf(one) < last);
  return (
    failIf(
      looped,
      'The same request came again after a 400: drop or correct the events that it names, and send the others.',
    ) ??
    lost(traffic, 'invalid', 'after a 400 that did not name them: send the rest of the batch.') ??
    passIf(
      survived,
      'No request that was answered 400 came again, and the events that it did not name did.',
    ) ??
    notSeen('No request after a 400 yet: let the camera send more.')
  );
}

export function splitsOn413(traffic: Traffic): Judgement {
  const refused = traffic.exchanges.filter(({ status, events }) => status === 413 && events.length > 1);
  const pairs = refused.flatMap((exchange) => {
    const next = traffic.next({ event: exchange.events[0]!, exchange });
    return next === undefined ? [] : [[exchange, next.exchange] as const];
  });
  const stubborn = pairs.filter(([before, after]) => after.events.length >= before.events.length);
  return (
    failIf(
      stubborn.flat(),
      'A batch that was answered 413 came again as large as before: send fewer events at once.',
    ) ??
    lost(traffic, 'too_large', 'after a 413: send every part of the batch, not only the first.') ??
    passIf(pairs.flat(), 'What was answered 413 came again in smaller requests.') ??
    notSeen('No batch came again after a 413 yet: only a request of several events gets one.', refused)
  );
}

/** For so long a camera may be silent after the time that a 401 told it: some try every half minute, whatever it says. */
const SILENT_MS = 60_000;

export function survives401(traffic: Traffic): Judgement {
  const refused = traffic.exchanges.filter(({ status, events }) => status === 401 && events.length > 0);
  const lasts = new Map(traffic.exchanges.flatMap((one) => one.events.map(({ source }) => [source, one])));
  const silent = refused.filter(
    (one) =>
      lasts.get(one.events[0]!.source) === one &&
      endOf(one) + (one.toldS ?? 0) * 1000 + SILENT_MS < traffic.endedAt,
  );
  const stored = resentUntilStored(traffic, ({ status }) => status === 401);
  return (
    failIf(
      silent,
      'The camera sent nothing more after a 401: keep the events, and try again as Retry-After says, until the token is accepted.',
    ) ??
    lost(traffic, 'unauthorized', 'after a 401: keep the events until the token is accepted.') ??
    cameAgain(stored, 'came again after a 401, until they were stored.') ??
    notSeen('No event came again after a 401 yet: let the camera send more.', refused)
  );
}

/** A camera that was off comes back with another connection. */
export function survivesRestart(traffic: Traffic): Judgement {
  const refused = traffic.exchanges.filter(({ fault }) => fault === 'restart');
  const saved = resentUntilStored(
    traffic,
    (before, after) => before.fault === 'restart' && traffic.wasOff(before, after),
  );
  const why =
    refused.length === 0
      ? 'The camera was not yet asked to be switched off and on: let it send until the box asks for it.'
      : 'No event that was refused before the camera was switched off came afterwards: switch it off and on when the box asks for it.';
  return (
    lost(
      traffic,
      'restart',
      'after the camera was switched off and on: keep unsent events where they survive that.',
    ) ??
    cameAgain(saved, 'came after the camera had been switched off and on.') ??
    notSeen(why, refused)
  );
}

/** @returns one resend, of those that are meant, of each event that was stored in the end. */
function resentUntilStored(
  traffic: Traffic,
  isMeant: (before: Exchange, after: Exchange) => boolean,
): Pair[] {
  const meant = resent(traffic).filter(({ before, after }) => isMeant(before.exchange, after.exchange));
  const ends = new Map(meant.map((pair) => [pair.history, pair]));
  return [...ends.values()].filter(({ history }) => history.some(({ outcome }) => outcome === 'stored'));
}

/** @param when what the camera should have done. @returns undefined where nothing was lost for this cause. */
function lost({ losses }: Traffic, cause: LossCause, when: string): Judgement | undefined {
  const requests = losses.get(cause)?.map(({ exchange }) => exchange) ?? [];
  return failIf(requests, `${counted(requests.length, 'event')} never came again ${when}`);
}

/** @returns undefined where there are none. */
function cameAgain(pairs: readonly Pair[], how: string, waiting = ''): Judgement | undefined {
  return passIf(requestsOf(pairs.slice(0, 2)), `${counted(pairs.length, 'event')} ${how}${waiting}`);
}

/** The contents of an event in one request: two if it also has its correction under the same revision, which raises_revision judges. */
function contentsOf({ event, exchange }: Sending): string[] {
  return exchange.events.flatMap(({ key, content }) => (key === event.key ? [content] : []));
}

interface Pair {
  readonly before: Sending;
  readonly after: Sending;
  readonly history: History;
}

function requestsOf(pairs: readonly Pair[]): Exchange[] {
  return pairs.flatMap(({ before, after }) => [before.exchange, after.exchange]);
}

/** @returns sendings whose answer was neither a 202 nor a reason to give up, each with the next sending of the same event. */
function resent({ histories }: Traffic): Pair[] {
  return histories.flatMap((history) => {
    const settled = history.findIndex(({ outcome }) => outcome !== 'unknown');
    const open = settled < 0 ? history : history.slice(0, settled + 1);
    return open.flatMap((after, i) => {
      const before = open[i - 1];
      return before === undefined || before.exchange === after.exchange ? [] : [{ before, after, history }];
    });
  });
}

/** @returns what finds the next request with the same body; after a 400 on purpose, with the same events in any order. */
function laterSame(traffic: Traffic): (exchange: Exchange) => Exchange | undefined {
  const batchOf = ({ events }: Exchange) => `${events.map(({ content }) => content).sort()}`;
  const batches = Map.groupBy(traffic.exchanges, batchOf);
  const bodies = Map.groupBy(traffic.exchanges, ({ digest }) => digest);
  return (exchange) => {
    // Without its invalid events, one batch may look the same as another.
    const same = exchange.named.length > 0 ? batches.get(batchOf(exchange)) : bodies.get(exchange.digest);
    const isAgain = (other: Exchange) => other !== exchange && other.at >= endOf(exchange);
    return same!.find((other) => isAgain(other) && !traffic.wasOff(exchange, other));
  };
}
