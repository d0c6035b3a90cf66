import { counted, isoTime } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import type { LastingProblem, StatusProblem } from '../finding.ts';
import type { Status } from '../status.ts';
import type { Change } from './alertBook.ts';

/** What is posted to COURTD_ALERT_URL, and given to COURTD_ALERT_COMMAND, as JSON. */
export interface AlertMessage {
  readonly box: string;
  readonly at: string;
  readonly state: Status['state'];
  /** All of it as sentences. */
  readonly text: string;
  readonly new: readonly StatusProblem[];
  readonly solved: readonly StatusProblem[];
}

/** Of each kind, in the text: a venue whose switch dies has fifty. */
const SENTENCES = 10;
/** ntfy refuses a text of more than 4,096 bytes, and so would for ever. The new ones have advice as well. */
const [NEW_BYTES, SOLVED_BYTES] = [2_600, 1_200];

/** @param at since 1970-01-01T00:00:00Z, in milliseconds. */
export function alertMessage(box: string, state: Status['state'], change: Change, at: number): AlertMessage {
  const lines = [
    ...some(change.new, NEW_BYTES, ({ message, advice }) => `${message} ${advice}`),
    ...some(change.solved, SOLVED_BYTES, ({ message }) => `Solved: ${message}`),
  ];
  return {
    box,
    at: isoTime(at),
    state,
    text: [visible(box), ...lines].join('\n'),
    new: change.new.map(asPrinted),
    solved: change.solved.map(asPrinted),
  };
}

/** One that says that it is a test (`courtd check --alert`). */
export function testMessage(box: string, at: number): AlertMessage {
  const message = alertMessage(box, 'ok', { new: [], solved: [] }, at);
  return { ...message, text: `${message.text}\nThis is a test of courtd's alert: nothing is wrong.` };
}

/** @param bytes for all of the lines; one that has more by itself is cut. */
function some(
  problems: readonly LastingProblem[],
  bytes: number,
  sentence: (problem: LastingProblem) => string,
): string[] {
  const lines: string[] = [];
  for (const problem of problems.slice(0, SENTENCES)) {
    const line = Buffer.from(visible(sentence(problem))).subarray(0, bytes);
    if (Buffer.byteLength(lines.join('\n')) + line.length >= bytes && lines.length > 0) break;
    // A character that was cut in the middle is left out.
    lines.push(new TextDecoder().decode(line, { stream: true }));
  }
  const rest = problems.length - lines.length;
  return rest > 0 ? [...lines, `And ${counted(rest, 'more problem')}: "courtd status" on the box.`] : lines;
}

function asPrinted({ about: _about, ...problem }: LastingProblem): StatusProblem {
  return problem;
}
