import type { Problem } from '../protocol/errors.ts';
import type { Counts } from '../store/write/appender.ts';

/** Every response of courtd is made here (README.md, "Answers"). */

/** A complete response: its body is never streamed. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string;
}

/** @returns 202 with the two counts (spec 2.3). Send it only after the commit. */
export function acceptedResponse({ accepted, duplicates, conflicts }: Counts): HttpResponse {
  const body = `{"accepted":${accepted},"duplicates":${duplicates}}`;
  const headers: Record<string, string | number> = {
    'Content-Type': 'application/json',
    'Content-Length': body.length,
  };
  if (conflicts > 0) headers['Courtd-Conflicts'] = conflicts;
  return { status: 202, headers, body };
}

/** @param requestId the id of this request in the log. */
export function problemResponse(problem: Problem, requestId: string): HttpResponse {
  const body = problem.body(requestId);
  return {
    status: problem.status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
      ...problem.headers,
    },
    body,
  };
}
