import { counted } from '../../base/units.ts';
import type { Exchange } from './exchange.ts';
import { endOf, fail, type Judgement, notSeen, pass, type Sending, type Traffic } from './traffic.ts';

/** What a camera does with events that it has no 202 for. */

const NOTHING_CAME_AGAIN = 'No refused or lost event came again yet: let the camera send more.';

export function sameEventId(traffic: Traffic): Judgement {
  const renamed = renamings(traffic);
  if (renamed.length > 0)
    return fail(
      `${counted(renamed.length, 'event')} came again under another event_id: create the id once, when the event is detected, and keep it.`,
      requestsOf(renamed),
    );
  const again = resent(traffic);
  if (again.length === 0) return notSeen(NOTHING_CAME_AGAIN);
  return pass(
    `${counted(again.length, 'event')} without a 202 came again under the same event_id.`,
    requestsOf(again.slice(0, 2)),
  );
}

/** Changes after a 202 are corrections, which raises_revision judges. */
export function sameContent(traffic: Traffic): Judgement {
  const again = resent(traffic);
  const changed = again.filter(({ before, after }) => !contentsOf(before).includes(after.event.content));
  if (changed.length > 0)
    return fail(
      `${counted(changed.length, 'event')} had different content when sent again: resend exactly what was sent, including the eot.`,
      requestsOf(changed),
    );
  if (again.length === 0) return notSeen(NOTHING_CAME_AGAIN);
  return pass(`${counted(again.length, 'event')} came again unchanged.`, requestsOf(again.slice(0, 2)));
}

export function losesNothing(traffic: Traffic): Judgement {
  const open = traffic.open();
  const renamed = new Set(renamings(traffic).map(({ before }) => before.event.key));
  const replaced = storedRevisions(traffic);
  const lost = open.filter(
    (one) =>
      !renamed.has(one.event.key) &&
      (replaced.get(one.event.id) ?? -1) < one.event.revision &&
      traffic.isForgotten(one),
  );
  if (lost.length > 0)
    return fail(
      `${counted(lost.length, 'event')} never came again after a refusal or a lost answer: keep each event until its 202.`,
      lost.map(({ exchange }) => exchange),
    );
  const saved = resent(traffic).filter(({ after }) => after.outcome === 'stored');
  const waiting = open.length > 0 ? ` ${counted(open.length, 'event')} still on the way at the end.` : '';
  if (saved.length === 0) return notSeen(`${NOTHING_CAME_AGAIN}${waiting}`);
  return pass(
    `${counted(saved.length, 'event')} without a 202 came again until they were stored.${waiting}`,
    requestsOf(saved.slice(0, 2)),
  );
}

export function givesUpOn400(traffic: Traffic): Judgement {
  const refused = traffic.exchanges.filter(({ status, digest }) => status === 400 && digest !== undefined);
  const later = laterSame(traffic);
  const looped = refused.flatMap((one) => {
    const again = later(one);
    return again === undefined ? [] : [one, again];
  });
  if (looped.length > 0)
    return fail(
      `The same request came again after a 400: drop or correct the events that it names, and send the others.`,
      looped,
    );
  const last = traffic.exchanges.at(-1)?.at ?? 0;
  const survived = refused.filter((one) => one.named.length > 0 && endOf(one) < last);
  if (survived.length === 0) return notSeen('No request after a 400 yet: let the camera send more.');
  return pass('No request that was answered 400 came again.', survived);
}

export function splitsOn413(traffic: Traffic): Judgement {
  const refused = traffic.exchanges.filter(({ status, events }) => status === 413 && events.length > 1);
  const pairs = refused.flatMap((exchange) => {
    const next = traffic.next({ event: exchange.events[0]!, exchange });
    return next === undefined ? [] : [{ exchange, next: next.exchange }];
  });
  const stubborn = pairs.filter(({ exchange, next }) => next.events.length >= exchange.events.length);
  if (stubborn.length > 0)
    return fail(
      'A batch that was answered 413 came again as large as before: send fewer events at once.',
      stubborn.flatMap(({ exchange, next }) => [exchange, next]),
    );
  if (pairs.length === 0)
    return notSeen(
      'No batch came again after a 413 yet: only a request of several events gets one.',
      refused,
    );
  return pass(
    'What was answered 413 came again in smaller requests.',
    pairs.flatMap(({ exchange, next }) => [exchange, next]),
  );
}

/** The contents of an event in one request: two if it also has its correction under the same revision, which raises_revision judges. */
function contentsOf({ event, exchange }: Sending): string[] {
  return exchange.events.flatMap(({ key, content }) => (key === event.key ? [content] : []));
}

interface Pair {
  readonly before: Sending;
  readonly after: Sending;
}

function requestsOf(pairs: readonly Pair[]): Exchange[] {
  return pairs.flatMap(({ before, after }) => [before.exchange, after.exchange]);
}

/** @returns sendings whose answer was neither a 202 nor a reason to give up, each with the next sending of the same event. */
function resent({ byKey }: Traffic): Pair[] {
  return [...byKey.values()].flatMap((sendings) => {
    const pairs: Pair[] = [];
    for (const [i, after] of sendings.entries()) {
      const before = sendings[i - 1];
      if (before === undefined) continue;
      if (before.outcome !== 'unknown') break;
      if (before.exchange !== after.exchange) pairs.push({ before, after });
    }
    return pairs;
  });
}

/**
 * @returns events that never came again, each with one that differs from it only in the event_id. Duplicates within
 * one request do not count: some programs send events that are otherwise the same.
 */
function renamings(traffic: Traffic): Pair[] {
  const firsts = [...traffic.byKey.values()].map(([first]) => first!);
  const byCore = Map.groupBy(firsts, ({ event }) => event.core);
  return traffic.open().flatMap((before) => {
    const { event, exchange } = before;
    const isAlone = exchange.events.filter(({ core }) => core === event.core).length === 1;
    if (!isAlone || !traffic.isForgotten(before)) return [];
    const after = byCore.get(event.core)?.find((one) => one.exchange.at >= endOf(exchange));
    return after === undefined ? [] : [{ before, after }];
  });
}

/** @returns the highest stored revision of each event. */
function storedRevisions({ byKey }: Traffic): Map<string, number> {
  const highest = new Map<string, number>();
  for (const sendings of byKey.values()) {
    const stored = sendings.find(({ outcome }) => outcome === 'stored');
    if (stored === undefined) continue;
    const { id, revision } = stored.event;
    highest.set(id, Math.max(revision, highest.get(id) ?? -1));
  }
  return highest;
}

/** @returns what finds the next request with the same body, or with the same events in another order. */
function laterSame({ exchanges }: Traffic): (exchange: Exchange) => Exchange | undefined {
  const namesOf = ({ digest, events }: Exchange) =>
    [`body ${digest}`, `events ${events.map(({ content }) => content).sort()}`].slice(
      0,
      events.length > 0 ? 2 : 1,
    );
  const named = exchanges.flatMap((exchange) => namesOf(exchange).map((name) => ({ name, exchange })));
  const groups = Map.groupBy(named, ({ name }) => name);
  return (exchange) => {
    // Without its invalid events, one batch may look the same as another.
    const names = namesOf(exchange).slice(0, exchange.named.length > 0 ? 2 : 1);
    const same = names.flatMap((name) => groups.get(name) ?? []).map(({ exchange }) => exchange);
    return same.find((other) => other !== exchange && other.at >= endOf(exchange));
  };
}
