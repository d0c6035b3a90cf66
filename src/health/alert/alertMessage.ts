import { counted } from '../../base/units.ts';
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

/** Of each kind, in the text: a venue whose switch dies has fifty, and a chat takes some thousand characters. */
const SENTENCES = 10;

/** @param at since 1970-01-01T00:00:00Z, in milliseconds. */
export function alertMessage(box: string, state: Status['state'], change: Change, at: number): AlertMessage {
  const lines = [
    ...some(change.new, ({ message, advice }) => `${message} ${advice}`),
    ...some(change.solved, ({ message }) => `Solved: ${message}`),
  ];
  return {
    box,
    at: new Date(at).toISOString(),
    state,
    text: visible(box) + lines.map((line) => `\n${visible(line)}`).join(''),
    new: change.new.map(asPrinted),
    solved: change.solved.map(asPrinted),
  };
}

/** One that says that it is a test (`courtd check --alert`). */
export function testMessage(box: string, at: number): AlertMessage {
  const message = alertMessage(box, 'ok', { new: [], solved: [] }, at);
  return { ...message, text: `${message.text}\nThis is a test of courtd's alert: nothing is wrong.` };
}

function some(problems: readonly LastingProblem[], sentence: (problem: LastingProblem) => string): string[] {
  const rest = problems.length - SENTENCES;
  const lines = problems.slice(0, SENTENCES).map(sentence);
  return rest > 0 ? [...lines, `And ${counted(rest, 'more problem')}: "courtd status" on the box.`] : lines;
}

function asPrinted({ about: _about, ...problem }: LastingProblem): StatusProblem {
  return problem;
}
