import type { Recording } from './exchange.ts';
import * as find from './findings.ts';
import { Traffic } from './traffic.ts';

/** The ten checks, in the order of the verdict: what finds the requests that fail it, and what each verdict says. */
const CHECKS = {
  same_event_id: {
    find: find.renamed,
    fail: 'Events came again with another event_id. Make the id once, when the event is detected, and keep it.',
    pass: 'Events came again with the same event_id.',
    unseen: 'No rejected or lost event came again yet.',
  },
  same_content: {
    find: find.changed,
    fail: 'Events came again with other content. Send again exactly what was sent, with its eot.',
    pass: 'Events came again unchanged.',
    unseen: 'No rejected or lost event came again with its event_id yet.',
  },
  waits_as_told: {
    find: find.early,
    fail: 'Events came again before the time in Retry-After. Wait as long as it says.',
    pass: 'Events came again after the time in Retry-After.',
    unseen: 'Nothing came again after a Retry-After yet.',
  },
  backs_off: {
    find: find.hasty,
    fail: 'After 503 without Retry-After the waits did not grow. Wait 1 s, and twice as long each time, up to 30 s.',
    pass: 'After 503 without Retry-After the waits grew.',
    unseen: 'The same events did not come again after three 503 without Retry-After yet.',
  },
  batches: {
    find: find.singles,
    fail: 'Twenty requests within 5 s had one event each. Put the events that are waiting into one request.',
    pass: 'Several events came in one request.',
    unseen: 'No request had several events yet.',
  },
  gives_up_on_400: {
    find: find.looped,
    fail: 'A request came again unchanged after a 400. Drop or correct the events that it names, and send the others.',
    pass: 'No request came again unchanged after a 400.',
    unseen: 'No request came after a 400 that names an event yet.',
  },
  survives_401: {
    find: find.lostAfter401,
    fail: 'Events never came again after a 401. Keep them, and send them again until the token is accepted.',
    pass: 'Events came again after a 401 until they were stored.',
    unseen: 'No event came again after a 401 until it was stored yet.',
  },
  true_eot: {
    find: find.wrongEot,
    fail: 'An eot is invalid, or a clock is wrong. Send times with an offset, soon, and set the clock by NTP.',
    pass: 'Every eot is valid, and every clock is right.',
    unseen: 'No camera sent five requests yet.',
  },
  payload_types: {
    find: find.oddFields,
    fail: "Known fields of a payload had values of another type. The vendor's guide has their types.",
    pass: 'Every known field of a payload had its type.',
    unseen: 'No event came yet.',
  },
  loses_nothing: {
    find: find.lost,
    fail: 'Events are lost. Keep each one until its 202, and halve a batch after a 413 or a 400 that names no event.',
    pass: 'Events came again until they were stored.',
    unseen: 'No batch came again after a lost answer, a 413 and a 400 that names no event yet.',
  },
} as const satisfies Record<
  string,
  { find: find.Judge; readonly fail: string; readonly pass: string; readonly unseen: string }
>;

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
  const traffic = new Traffic(recording);
  const checks = CHECK_NAMES.map((name): Check => {
    const { find, fail, pass, unseen } = CHECKS[name];
    const {
      shownBy: [first],
      detail,
      isSeen,
    } = find(traffic);
    if (first !== undefined) {
      const at = first.bodyMs > 0 ? ` at ${new Date(first.bodyMs).toISOString().slice(11, 19)}Z` : '';
      const shown = `First seen in request ${first.number}${at}${detail === undefined ? '' : `: ${detail}`}.`;
      return { name, verdict: 'fail', message: `${fail} ${shown}` };
    }
    if (isSeen) return { name, verdict: 'pass', message: pass };
    return { name, verdict: 'not seen', message: `${unseen} Let the camera send more.` };
  });
  return { certificate: checks.every(({ verdict }) => verdict === 'pass'), checks };
}
