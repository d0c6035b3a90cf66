import { SOURCE_FAULT_MS } from '../../base/limits.ts';
import type { LastingProblem } from '../finding.ts';
import { isToldNow } from '../sourceProblems.ts';
import { THRESHOLDS } from '../thresholds.ts';
import type { ProblemReport } from './problemReport.ts';

/** What is told to somebody: problems that are there and were not, and the other way round. */
export interface Change {
  readonly new: readonly LastingProblem[];
  readonly solved: readonly LastingProblem[];
}

/** What a look at the box has found; where its daemon does not answer, only that is known. */
export type Look = ProblemReport | { readonly unanswered: LastingProblem };

/** What comes and goes within this time is not told. */
const STEADY_MS = 60_000;
/** After a start, a daemon knows nothing of its cameras yet: for so long no silence is over that was told before. */
const SETTLE_MS = 5 * 60_000;
/** What a box says for a while after it was last seen, and a start forgets: it is not over before that while has passed without it. */
const FORGOTTEN_MS: Readonly<Record<string, number>> = {
  refused: THRESHOLDS.refused_s * 1_000,
  conflicts: SOURCE_FAULT_MS,
  odd_payload: SOURCE_FAULT_MS,
};

const UNANSWERED: readonly string[] = ['daemon_stopped', 'daemon_hangs'];

/** Since when each problem is there, or is not there any more. Times are in milliseconds of a clock that never jumps. */
export class AlertBook {
  readonly #steadyMs: number;
  readonly #present = new Map<string, { readonly problem: LastingProblem; readonly sinceMs: number }>();
  readonly #goneSince = new Map<string, number>();

  /** @param steadyMs for how long a problem is there, or gone, before that is told. */
  constructor(steadyMs = STEADY_MS) {
    this.#steadyMs = steadyMs;
  }

  /** @param told what somebody knows of. @param upMs for how long the daemon runs. */
  look(look: Look, told: Iterable<LastingProblem>, nowMs: number, upMs: number): void {
    const problems = 'unanswered' in look ? [look.unanswered] : look.problems;
    const keys = new Set(problems.map(keyOf));
    for (const problem of problems) {
      const key = keyOf(problem);
      this.#present.set(key, { problem, sinceMs: this.#present.get(key)?.sinceMs ?? nowMs });
      this.#goneSince.delete(key);
    }
    for (const [key, { problem }] of this.#present) {
      if (!keys.has(key) && isKnown(problem, look, upMs)) this.#present.delete(key);
    }
    for (const problem of told) {
      const key = keyOf(problem);
      if (keys.has(key)) continue;
      if (!isKnown(problem, look, upMs)) this.#goneSince.delete(key);
      else if (!this.#goneSince.has(key)) this.#goneSince.set(key, nowMs);
    }
  }

  /** @returns what is to be told to whoever was told that. */
  changeSince(told: ReadonlyMap<string, LastingProblem>, nowMs: number): Change {
    const isSteady = (sinceMs: number | undefined) =>
      sinceMs !== undefined && nowMs - sinceMs >= this.#steadyMs;
    return {
      new: [...this.#present]
        .filter(([key, { sinceMs }]) => !told.has(key) && isSteady(sinceMs))
        .map(([, { problem }]) => problem),
      solved: [...told].filter(([key]) => isSteady(this.#goneSince.get(key))).map(([, problem]) => problem),
    };
  }
}

/** Whether a look that does not find it says that it is over. */
function isKnown(problem: LastingProblem, look: Look, upMs: number): boolean {
  if (UNANSWERED.includes(problem.code)) return true;
  const settleMs = FORGOTTEN_MS[problem.code] ?? SETTLE_MS;
  return !('unanswered' in look) && upMs >= settleMs && isToldNow(problem, look);
}

export function keyOf({ code, about }: LastingProblem): string {
  return `${code} ${about}`;
}
