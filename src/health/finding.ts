export type Level = 'ok' | 'warn' | 'fail';

/** What a check of a box or of headquarters has found. */
export interface Finding {
  readonly level: Level;
  /** What was found, in a sentence. */
  readonly message: string;
  /** What to do; empty if there is nothing to do. */
  readonly advice: string;
}

/** As `courtd check --json` prints it. */
export interface CheckResult extends Finding {
  readonly name: string;
}

/** What needs a person, as `courtd status --json` prints it. */
export interface StatusProblem extends Finding {
  readonly code: string;
  readonly level: 'warn' | 'fail';
}

export function ok(message: string): Finding {
  return { level: 'ok', message, advice: '' };
}

export function warn(message: string, advice: string): Finding {
  return { level: 'warn', message, advice };
}

export function fail(message: string, advice: string): Finding {
  return { level: 'fail', message, advice };
}

/** The part of pino's logger that is used. */
type Log = Record<'warn' | 'error', (fields: object, message: string) => void>;

/** Writes a problem to the log, with its code and its advice. @param level `error` if events are rejected because of it. */
export function logProblem(
  log: Log,
  { code, message, advice }: StatusProblem,
  fields: object = {},
  level: 'warn' | 'error' = 'warn',
): void {
  log[level]({ problem: code, message, advice, ...fields }, 'problem');
}
