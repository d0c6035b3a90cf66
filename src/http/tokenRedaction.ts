import type { LogFields, LoggedProblem } from '../protocol/errors.ts';
import { REMOVED } from '../store/refused/withoutToken.ts';

/** Removes a token, if there was one, from what the operator reads of a refused request: a camera may have put it into any field. */

export function redactProblem(problem: LoggedProblem, token: string | undefined): LoggedProblem {
  if (token === undefined) return problem;
  const { code, status, message, logFields } = problem;
  return { code, status, message: redact(message, token), logFields: redactFields(logFields, token) };
}

export function redactFields(fields: LogFields, token: string | undefined): LogFields {
  if (token === undefined) return fields;
  const redacted = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'string' ? redact(value, token) : value,
  ]);
  return Object.fromEntries(redacted);
}

function redact(text: string, token: string): string {
  return text.replaceAll(token, REMOVED);
}
