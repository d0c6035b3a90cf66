import { counted } from '../../base/units.ts';
import { THRESHOLDS } from '../../health/thresholds.ts';
import type { Exchange } from './exchange.ts';
import { endOf, fail, type Judgement, notSeen, pass, type Sending, type Traffic } from './traffic.ts';

/** Checks of the content of a camera's events and requests. */

/** Conflicts: different content under a key that had its 202, or twice in one request. */
export function raisesRevision({ byKey }: Traffic): Judgement {
  const conflicts = [...byKey.values()].flatMap((sendings) => {
    const pair = conflictIn(sendings);
    return pair === undefined ? [] : [pair];
  });
  if (conflicts.length > 0)
    return fail(
      `${counted(conflicts.length, 'event')} came again with different content and the same revision: raise the revision in a correction. Or two cameras use the same event_id.`,
      conflicts.flat().map(({ exchange }) => exchange),
    );
  const first = new Map<string, Sending>();
  for (const [sending] of byKey.values()) {
    const known = first.get(sending!.event.id);
    if (known === undefined) first.set(sending!.event.id, sending!);
    else if (known.event.revision !== sending!.event.revision)
      return pass('A correction had a higher revision of the same event_id.', [
        known.exchange,
        sending!.exchange,
      ]);
  }
  return notSeen('No event was corrected or confirmed yet.');
}

function conflictIn(sendings: readonly Sending[]): [Sending, Sending] | undefined {
  for (const [i, after] of sendings.entries()) {
    const before = sendings.slice(0, i).find(({ event, exchange, outcome }) => {
      const isKnown = outcome === 'stored' && endOf(exchange) <= after.exchange.at;
      return event.content !== after.event.content && (isKnown || exchange === after.exchange);
    });
    if (before !== undefined) return [before, after];
  }
  return undefined;
}

/** How many requests of a camera it takes to judge its clock. */
const CLOCK_REQUESTS = 5;

/** Network and detection only add to the time from eot to receipt: the smallest difference is the clock's. */
export function trueEot({ exchanges }: Traffic): Judgement {
  const faulty = exchanges.filter(({ isEotFaulty }) => isEotFaulty);
  if (faulty.length > 0)
    return fail(
      'An eot broke a rule: it must be a real date and time with an offset, such as 2026-03-14T15:09:26.535Z.',
      faulty,
    );
  const clocks = new Map<string, { requests: number; smallestMs: number; shownBy: Exchange }>();
  for (const exchange of exchanges) {
    for (const source of new Set(exchange.events.map(({ source }) => source))) {
      const own = exchange.events.filter((event) => event.source === source);
      const latenessMs = Math.min(...own.map(({ eotMs }) => (exchange.bodyMs ?? exchange.wallMs) - eotMs));
      const known = clocks.get(source) ?? { requests: 0, smallestMs: latenessMs, shownBy: exchange };
      known.requests++;
      if (latenessMs < known.smallestMs) Object.assign(known, { smallestMs: latenessMs, shownBy: exchange });
      clocks.set(source, known);
    }
  }
  const judged = [...clocks].filter(([, { requests }]) => requests >= CLOCK_REQUESTS);
  const off = judged.find(([, { smallestMs }]) => Math.abs(smallestMs) > THRESHOLDS.clock_s * 1000);
  if (off !== undefined) {
    const [source, { smallestMs, shownBy }] = off;
    const by = `${(Math.abs(smallestMs) / 1000).toFixed(1)} s ${smallestMs > 0 ? 'behind' : 'ahead'}`;
    return fail(`The clock of ${source} is ${by}: set it by NTP, and send events soon after they happen.`, [
      shownBy,
    ]);
  }
  if (judged.length === 0) return notSeen(`No camera sent ${CLOCK_REQUESTS} requests yet.`);
  const worst = Math.max(...judged.map(([, { smallestMs }]) => Math.abs(smallestMs)));
  return pass(
    `Every eot had an offset, and no clock of ${counted(judged.length, 'camera')} was off by more than ${(worst / 1000).toFixed(1)} s.`,
    judged.slice(0, 2).map(([, { shownBy }]) => shownBy),
  );
}

export function tokenNotInUrl({ exchanges }: Traffic): Judgement {
  const told = exchanges.filter(({ isTokenInUrl }) => isTokenInUrl);
  if (told.length > 0)
    return fail(
      `${counted(told.length, 'request')} had the token in the URL, which logs and proxies keep: send it in the header Authorization alone.`,
      told,
    );
  const authorized = exchanges.filter(({ status, events }) => status === 202 && events.length > 0);
  if (authorized.length === 0) return notSeen('No request with the token yet.', exchanges.slice(-1));
  return pass('The token was in the header Authorization alone.', authorized.slice(-1));
}
