import type { Problem } from '../protocol/errors.ts';
import type { Counts } from '../store/write/appendEvents.ts';
import type { Answer } from './connection/connection.ts';

/** What is answered: the one place that makes it. */

const PROBLEM_TYPE = 'application/problem+json';

/** 202 and nothing else in it (design 2). Give it only after the commit. */
export function acceptance({ accepted, duplicates, conflicts }: Counts): Answer {
  const body = `{"accepted":${accepted},"duplicates":${duplicates}}`;
  const fields: Record<string, string | number> = {
    'Content-Type': 'application/json',
    'Content-Length': body.length,
  };
  if (conflicts > 0) fields['Courtd-Conflicts'] = conflicts;
  return { status: 202, fields, body };
}

/** @param requestId what the log calls this request. */
export function refusal(problem: Problem, requestId: string): Answer {
  const body = problem.body(requestId);
  return {
    status: problem.status,
    fields: {
      'Content-Type': PROBLEM_TYPE,
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
      ...problem.headers,
    },
    body,
  };
}
