import type { StatusProblem } from './finding.ts';

/** What is needed of pino's. */
interface Log {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Writes a problem to the log, with its code and its advice.
 * @param level `error` where events are refused for it.
 */
export function logProblem(
  log: Log,
  problem: StatusProblem,
  fields: object = {},
  level: 'warn' | 'error' = 'warn',
): void {
  const line = { problem: problem.code, ...fields, advice: problem.advice };
  if (level === 'error') log.error(line, problem.message);
  else log.warn(line, problem.message);
}
