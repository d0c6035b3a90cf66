import type { Fault, InvalidEvent } from '../../src/protocol/errors.ts';
import type { Answer } from './rawClient.ts';

/** What a test needs of tap's `t`. */
export interface Asserts {
  equal(found: unknown, wanted: unknown, what: string): boolean;
  strictSame(found: unknown, wanted: unknown, what: string): boolean;
}

export interface ProblemBody {
  readonly error: string;
  readonly request_id: string;
  readonly details?: readonly Fault[];
  readonly details_total?: number;
  readonly invalid?: readonly InvalidEvent[];
  readonly invalid_total?: number;
  readonly limit_bytes?: number;
  readonly size_bytes?: number;
}

const MEMBERS = ['type', 'title', 'status', 'code', 'error', 'request_id', 'retryable'];
const RETRYABLE = [401, 408, 429, 500, 503];

/**
 * Compares an error with the contract (src/http/README.md): status, media type, and exactly these members.
 * @param further members that this one has beyond those that all have.
 */
export function checkProblem(
  t: Asserts,
  answer: Answer,
  status: number,
  code: string,
  what: string = code,
  further: readonly string[] = [],
): ProblemBody {
  const body = JSON.parse(answer.body || '{}');
  // In an array these name their event, if it could be parted from the others.
  const namesEvent = ['invalid_json', 'too_deep'].includes(code) && 'invalid' in body;
  const all = [...MEMBERS, ...further, ...(namesEvent ? ['invalid', 'invalid_total'] : [])];
  const found = {
    status: [answer.status, body.status],
    mediaType: answer.headers.get('content-type'),
    bytes: Number(answer.headers.get('content-length')),
    // Without it a proxy may keep a 404 or a 405 (RFC 9111, 4.2.2).
    caching: answer.headers.get('cache-control'),
    members: Object.keys(body).sort(),
    ...{ type: body.type, code: body.code, retryable: body.retryable },
    words: [body.title, body.error, body.request_id].map((text) => typeof text === 'string' && text !== ''),
  };
  const wanted = {
    status: [status, status],
    mediaType: 'application/problem+json',
    bytes: Buffer.byteLength(answer.body),
    caching: 'no-store',
    members: all.sort(),
    ...{ type: `urn:courtd:problem:${code}`, code, retryable: RETRYABLE.includes(status) },
    words: [true, true, true],
  };
  t.strictSame(found, wanted, what);
  return body;
}
