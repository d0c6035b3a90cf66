import type { Recording } from './exchange.ts';
import * as find from './findings.ts';
import { Traffic } from './traffic.ts';

/** The ten checks, in the order of the verdict: what finds the requests that fail it, and what a pass and a failure say. */
const CHECKS = {
  same_event_id: [
    find.renamed,
    'Events came again with the same event_id.',
    'Events came again with another event_id. Make the id once, when the event is detected, and keep it.',
  ],
  same_content: [
    find.changed,
    'Events came again unchanged.',
    'Events came again with other content. Send exactly the same event again, with its eot.',
  ],
  waits_as_told: [
    find.early,
    'Events came again after the time in Retry-After.',
    'Events came again before the time in Retry-After. Wait that long.',
  ],
  backs_off: [
    find.hasty,
    'After 503 without Retry-After the waits grew.',
    'After 503 without Retry-After the waits did not grow. Wait 1 s, and twice as long each time, up to 30 s.',
  ],
  batches: [
    find.singles,
    'Several events came in one request.',
    'Twenty requests within 5 s had one event each. Put the events that are waiting into one request.',
  ],
  gives_up_on_400: [
    find.looped,
    'No request came again unchanged after a 400.',
    'A request came again unchanged after a 400. Drop or correct the events that it names, and send the others.',
  ],
  survives_401: [
    find.lostAfter401,
    'Events came again after a 401 until they were stored.',
    'Events never came again after a 401. Keep them, and send them again until the token is accepted.',
  ],
  true_eot: [
    find.wrongEot,
    'Every eot is valid, and every clock is right.',
    'An eot is invalid, or a clock is wrong. Send times with an offset, soon, and set the clock by NTP.',
  ],
  payload_types: [
    find.oddFields,
    'Every known field of a payload had its type.',
    "Known fields of a payload had values of another type. The vendor's guide has their types.",
  ],
  loses_nothing: [
    find.lost,
    'Events came again until they were stored.',
    'Events are lost. Keep each one until its 202, and halve a batch after a 413 or a 400 that names no event.',
  ],
} as const satisfies Record<string, readonly [find.Judge, pass: string, fail: string]>;

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
    const [find, pass, fail] = CHECKS[name];
    const { shownBy, detail, isSeen } = find(traffic);
    const [first] = shownBy;
    if (first !== undefined) {
      const at = first.bodyMs > 0 ? ` at ${new Date(first.bodyMs).toISOString().slice(11, 19)}Z` : '';
      const shown = `First seen in request ${first.number}${at}${detail === undefined ? '' : `: ${detail}`}.`;
      return { name, verdict: 'fail', message: `${fail} ${shown}` };
    }
    if (isSeen) return { name, verdict: 'pass', message: pass };
    return {
      name,
      verdict: 'not seen',
      message: 'There was no occasion to see this yet. Let the camera send more.',
    };
  });
  return { certificate: checks.every(({ verdict }) => verdict === 'pass'), checks };
}
