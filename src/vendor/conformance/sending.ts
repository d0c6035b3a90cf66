import { counted } from '../../base/units.ts';
import { THRESHOLDS } from '../../health/thresholds.ts';
import type { Exchange } from './exchange.ts';
import { endOf, failIf, type Judgement, notSeen, passIf, type Sending, type Traffic } from './traffic.ts';

/** Checks of the content of a camera's events and requests. */

const NO_EVENT = 'No event yet.';
/** Kinds of odd fields that a message lists. */
const SHOWN_KINDS = 5;

/** A conflict is different content under a key that had its 202, or twice in one request. */
export function raisesRevision(traffic: Traffic): Judgement {
  const { histories } = traffic;
  const conflicts = histories.flatMap((history) =>
    pairIn(history, (before, after) => {
      const isOther = before.event.key === after.event.key && before.event.content !== after.event.content;
      return isOther && (isKnown(before, after) || before.exchange === after.exchange);
    }),
  );
  const revisions = [...Map.groupBy(histories, ([first]) => first!.event.id).values()];
  const revised = revisions.map((all) => all.map(([first]) => first!)).filter(({ length }) => length > 1);
  const lowered = revised.flatMap((firsts) =>
    pairIn(firsts, ({ event }, after) => {
      const isLower = event.revision > after.event.revision;
      return isLower && traffic.historyOf(event).some((before) => isKnown(before, after));
    }),
  );
  const [higher, lower] = lowered.map(({ event }) => event.revision);
  return (
    failIf(
      requestsOf(conflicts),
      `${counted(conflicts.length / 2, 'event')} came again with different content and the same revision: raise the revision in a correction. Or two cameras use the same event_id.`,
    ) ??
    failIf(
      requestsOf(lowered),
      `Revision ${lower} of an event came after revision ${higher} was stored, which stays the current one: a correction needs a higher revision.`,
    ) ??
    passIf(requestsOf(revised[0] ?? []), 'A correction had a higher revision of the same event_id.') ??
    (histories.length === 0 ? notSeen(NO_EVENT) : NOT_CORRECTED)
  );
}

const NOT_CORRECTED: Judgement = {
  verdict: 'pass',
  message: 'Not tested: no event was corrected or confirmed.',
  shownBy: [],
};

function requestsOf(sendings: readonly Sending[]): Exchange[] {
  return sendings.map(({ exchange }) => exchange);
}

/** Whether the camera knew that one was stored when it sent another. */
function isKnown({ outcome, exchange }: Sending, after: Sending): boolean {
  return outcome === 'stored' && endOf(exchange) <= after.exchange.at;
}

/** @returns the first two sendings, in order of arrival, of which that is so; none where there are none. */
function pairIn(all: readonly Sending[], isSo: (before: Sending, after: Sending) => boolean): Sending[] {
  for (const [i, after] of all.entries()) {
    const before = all.slice(0, i).find((one) => isSo(one, after));
    if (before !== undefined) return [before, after];
  }
  return [];
}

export function payloadTypes({ exchanges, histories }: Traffic): Judgement {
  const told = exchanges.flatMap((exchange) => {
    const refused = exchange.faults.filter(({ path }) => path.startsWith('payload'));
    const what = [
      ...exchange.events.flatMap(({ odd }) => odd),
      ...refused.map(({ path, message }) => `${path} ${message}`),
    ];
    return what.map((one) => ({ one, exchange }));
  });
  const kinds = [...new Set(told.map(({ one }) => one))].slice(0, SHOWN_KINDS).join('; ');
  const shown = exchanges.filter(({ events }) => events.length > 0).slice(-1);
  return (
    failIf(
      told.map(({ exchange }) => exchange),
      `${counted(told.length, 'field')} of a payload had a value of another type: ${kinds}. See the table of fields in the vendor's guide.`,
    ) ??
    passIf(shown, `Every known field had its type, in ${counted(histories.length, 'event')}.`) ??
    notSeen(NO_EVENT)
  );
}

/** How many requests of a camera it takes to judge its clock. */
const CLOCK_REQUESTS = 5;

/** Network and detection only add to the time from eot to receipt: the smallest difference is the clock's. */
export function trueEot({ exchanges }: Traffic): Judgement {
  const faulty = exchanges.filter(({ faults }) => faults.some(({ path }) => path === 'eot'));
  const all = exchanges.flatMap((exchange) =>
    exchange.events.map(({ source, eotMs }) => ({
      source,
      exchange,
      lateMs: (exchange.bodyMs ?? exchange.wallMs) - eotMs,
    })),
  );
  const judged = [...Map.groupBy(all, ({ source }) => source).values()]
    .filter((own) => new Set(own.map(({ exchange }) => exchange)).size >= CLOCK_REQUESTS)
    .map((own) => own.reduce((least, one) => (one.lateMs < least.lateMs ? one : least)));
  const off = judged.filter(({ lateMs }) => Math.abs(lateMs) > THRESHOLDS.clock_s * 1000);
  const { source, lateMs = 0 } = off[0] ?? {};
  const seconds = (ms: number) => (Math.abs(ms) / 1000).toFixed(1);
  const worstMs = Math.max(...judged.map(({ lateMs }) => Math.abs(lateMs)));
  return (
    failIf(
      faulty,
      'An eot broke a rule: it must be a real date and time with an offset, such as 2026-03-14T15:09:26.535Z.',
    ) ??
    failIf(
      off.map(({ exchange }) => exchange),
      `The clock of ${source} is ${seconds(lateMs)} s ${lateMs > 0 ? 'behind' : 'ahead'}: set it by NTP, and send events soon after they happen.`,
    ) ??
    passIf(
      judged.slice(0, 2).map(({ exchange }) => exchange),
      `Every eot had an offset, and no clock of ${counted(judged.length, 'camera')} was off by more than ${seconds(worstMs)} s.`,
    ) ??
    notSeen(`No camera sent ${CLOCK_REQUESTS} requests yet.`)
  );
}

export function tokenNotInUrl({ exchanges }: Traffic): Judgement {
  const told = exchanges.filter(({ isTokenInUrl }) => isTokenInUrl);
  const authorized = exchanges.filter(({ status, events }) => status === 202 && events.length > 0);
  return (
    failIf(
      told,
      `${counted(told.length, 'request')} had the token in the URL, which logs and proxies keep: send it in the header Authorization alone.`,
    ) ??
    passIf(authorized.slice(-1), 'The token was in the header Authorization alone.') ??
    notSeen('No request with the token yet.', exchanges.slice(-1))
  );
}
