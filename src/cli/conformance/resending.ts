import { counted } from '../terminal/output.ts';
import type { Exchange } from './exchange.ts';
import type { Finding } from './judge.ts';
import { endOf, type Sending, type Traffic } from './traffic.ts';

/** What a camera does with events that it has no 202 for. */

const NOTHING_FAILED = 'No request was refused or lost yet: let the camera send more.';

export function sameEventId(traffic: Traffic): Finding {
  const renamed = renamings(traffic);
  const [first] = renamed;
  if (first !== undefined) {
    return {
      verdict: 'fail',
      message: `${counted(renamed.length, 'event')} came again under another event_id: create the id once, when the event is detected, and keep it.`,
      shownBy: renamed.flatMap(({ before, after }) => [before.exchange, after.exchange]),
    };
  }
  const again = resent(traffic);
  if (again.length === 0) return { verdict: 'not seen', message: NOTHING_FAILED, shownBy: [] };
  return {
    verdict: 'pass',
    message: `${counted(again.length, 'event')} without a 202 came again under the same event_id.`,
    shownBy: again.slice(0, 2).flatMap(({ before, after }) => [before.exchange, after.exchange]),
  };
}

/** Changes after a 202 are corrections, which raises_revision judges. */
export function sameContent(traffic: Traffic): Finding {
  const again = resent(traffic);
  const changed = again.filter(({ before, after }) => !contentsOf(before).includes(after.event.content));
  if (changed.length > 0) {
    return {
      verdict: 'fail',
      message: `${counted(changed.length, 'event')} had different content when sent again: resend exactly what was sent, including the eot.`,
      shownBy: changed.flatMap(({ before, after }) => [before.exchange, after.exchange]),
    };
  }
  if (again.length === 0) return { verdict: 'not seen', message: NOTHING_FAILED, shownBy: [] };
  return {
    verdict: 'pass',
    message: `${counted(again.length, 'event')} came again unchanged.`,
    shownBy: again.slice(0, 2).flatMap(({ before, after }) => [before.exchange, after.exchange]),
  };
}

export function losesNothing(traffic: Traffic): Finding {
  const open = traffic.open();
  const renamed = new Set(renamings(traffic).map(({ before }) => before.event.key));
  const replaced = storedRevisions(traffic);
  const lost = open.filter(
    (one) =>
      !renamed.has(one.event.key) &&
      (replaced.get(one.event.id) ?? -1) < one.event.revision &&
      traffic.isForgotten(one),
  );
  if (lost.length > 0) {
    return {
      verdict: 'fail',
      message: `${counted(lost.length, 'event')} never came again after a refusal or a lost answer: keep each event until its 202.`,
      shownBy: lost.map(({ exchange }) => exchange),
    };
  }
  const saved = resent(traffic).filter(({ after }) => after.outcome === 'stored');
  const waiting =
    open.length > 0 ? ` ${counted(open.length, 'event')} were still on the way at the end.` : '';
  if (saved.length === 0) return { verdict: 'not seen', message: `${NOTHING_FAILED}${waiting}`, shownBy: [] };
  return {
    verdict: 'pass',
    message: `${counted(saved.length, 'event')} without a 202 came again until they were stored.${waiting}`,
    shownBy: saved.slice(0, 2).flatMap(({ before, after }) => [before.exchange, after.exchange]),
  };
}

export function givesUpOn400(traffic: Traffic): Finding {
  const refused = traffic.exchanges.filter(({ status, digest }) => status === 400 && digest !== undefined);
  const later = laterSame(traffic);
  const looped = refused.flatMap((one) => {
    const again = later(one);
    return again === undefined ? [] : [one, again];
  });
  if (looped.length > 0) {
    return {
      verdict: 'fail',
      message: `The same request came again after a 400: drop or correct the events that it names, and send the others.`,
      shownBy: looped,
    };
  }
  const last = traffic.exchanges.at(-1)?.at ?? 0;
  const survived = refused.filter((one) => one.named.length > 0 && endOf(one) < last);
  if (survived.length === 0)
    return {
      verdict: 'not seen',
      message: 'No request after a 400 yet: let the camera send more.',
      shownBy: [],
    };
  return { verdict: 'pass', message: 'No request that was answered 400 came again.', shownBy: survived };
}

export function splitsOn413(traffic: Traffic): Finding {
  const refused = traffic.exchanges.filter(({ status, events }) => status === 413 && events.length > 1);
  const pairs = refused.flatMap((exchange) => {
    const next = traffic.next({ event: exchange.events[0]!, exchange });
    return next === undefined ? [] : [{ exchange, next: next.exchange }];
  });
  const stubborn = pairs.filter(({ exchange, next }) => next.events.length >= exchange.events.length);
  if (stubborn.length > 0) {
    return {
      verdict: 'fail',
      message: 'A batch that was answered 413 came again as large as before: send fewer events at once.',
      shownBy: stubborn.flatMap(({ exchange, next }) => [exchange, next]),
    };
  }
  if (pairs.length === 0)
    return {
      verdict: 'not seen',
      message: 'No batch came again after a 413 yet: only a request of several events gets one.',
      shownBy: refused,
    };
  return {
    verdict: 'pass',
    message: 'What was answered 413 came again in smaller requests.',
    shownBy: pairs.flatMap(({ exchange, next }) => [exchange, next]),
  };
}

/** The contents of an event in one request: two if it also has its correction under the same revision, which raises_revision judges. */
function contentsOf({ event, exchange }: Sending): string[] {
  return exchange.events.flatMap(({ key, content }) => (key === event.key ? [content] : []));
}

interface Pair {
  readonly before: Sending;
  readonly after: Sending;
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
  const byCore = new Map<string, Sending[]>();
  for (const [first] of traffic.byKey.values()) {
    const same = byCore.get(first!.event.core);
    if (same === undefined) byCore.set(first!.event.core, [first!]);
    else same.push(first!);
  }
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
  const groups = new Map<string, Exchange[]>();
  const namesOf = ({ digest, events }: Exchange) =>
    [`body ${digest}`, `events ${events.map(({ content }) => content).sort()}`].slice(
      0,
      events.length > 0 ? 2 : 1,
    );
  for (const exchange of exchanges) {
    for (const name of namesOf(exchange)) {
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [exchange]);
      else group.push(exchange);
    }
  }
  return (exchange) => {
    // Without its invalid events, one batch may look the same as another.
    const names = namesOf(exchange).slice(0, exchange.named.length > 0 ? 2 : 1);
    const same = names.flatMap((name) => groups.get(name) ?? []);
    return same.find((other) => other !== exchange && other.at >= endOf(exchange));
  };
}
