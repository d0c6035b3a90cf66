import { RETRY_AFTER_S } from '../base/limits.ts';

/**
 * Every error that courtd answers with: a closed table, which a test compares with the vendor's guide (src/http/README.md,
 * "Answers"). Error bodies are problem details (RFC 9457) that also carry the protocol's own members.
 */

interface Kind {
  readonly status: number;
  readonly title: string;
  /** Whether the same events, sent again unchanged, may be accepted (after a 401: with the venue's current token). */
  readonly retryable: boolean;
}

export const PROBLEMS = {
  malformed_request: { status: 400, title: 'Malformed HTTP', retryable: false },
  invalid_encoding: { status: 400, title: 'Body cannot be decoded', retryable: false },
  invalid_json: { status: 400, title: 'Body is not JSON', retryable: false },
  too_deep: { status: 400, title: 'Event nested too deep', retryable: false },
  too_many_events: { status: 400, title: 'Too many events', retryable: false },
  invalid_event: { status: 400, title: 'Invalid event', retryable: false },
  unauthorized: { status: 401, title: 'Token missing or invalid', retryable: true },
  not_found: { status: 404, title: 'No such path', retryable: false },
  method_not_allowed: { status: 405, title: 'Method not allowed', retryable: false },
  request_timeout: { status: 408, title: 'Request too slow', retryable: true },
  body_too_large: { status: 413, title: 'Body too large', retryable: false },
  unsupported_media_type: { status: 415, title: 'Not application/json', retryable: false },
  unsupported_encoding: { status: 415, title: 'Content-Encoding not supported', retryable: false },
  expectation_failed: { status: 417, title: 'Expectation not supported', retryable: false },
  rate_limited: { status: 429, title: 'Too many requests', retryable: true },
  headers_too_large: { status: 431, title: 'Headers too large', retryable: false },
  internal_error: { status: 500, title: 'Internal error', retryable: true },
  storage_full: { status: 503, title: 'Disk full', retryable: true },
  storage_busy: { status: 503, title: 'Store busy', retryable: true },
  storage_failed: { status: 503, title: 'Store failed', retryable: true },
  overloaded: { status: 503, title: 'Overloaded', retryable: true },
  shutting_down: { status: 503, title: 'Shutting down', retryable: true },
} as const satisfies Record<string, Kind>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One fault of one event: a dotted path (`payload.x_ft`; '' for the event itself) and the rule that it breaks. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** The members of a problem that depend on its code. */
export interface ProblemMembers {
  /** For `invalid_event`: the faults of a single event, LISTED_FAULTS at most. */
  readonly details?: readonly Fault[];
  /** All faults, if not all are listed. */
  readonly details_total?: number;
  /** For `invalid_event`: the invalid events of an array, LISTED_EVENTS at most. */
  readonly invalid?: readonly InvalidEvent[];
  /** All invalid events. */
  readonly invalid_total?: number;
  /** For `body_too_large`, in bytes; the size only if Content-Length declared it. */
  readonly limit_bytes?: number;
  readonly size_bytes?: number;
  /** For `body_too_large`, if the body holds too many JSON values. */
  readonly limit_values?: number;
}

/** Facts of a rejected request for the operator only, if they are known. */
export interface LogFields {
  /** Why a token was not accepted: not in the answer. */
  readonly reason?: string;
  /** From the first invalid event, or else from the first event. */
  readonly source?: string;
  readonly court_id?: string;
  /** How many events the request held. */
  readonly events?: number;
}

export interface InvalidEvent {
  /** Position in the request's array, from 0. */
  readonly index: number;
  /** Null if it is not valid. */
  readonly event_id: string | null;
  readonly issues: readonly Fault[];
  /** All faults, if not all are listed. */
  readonly issues_total?: number;
}

/** Why a request is rejected: thrown anywhere on its path, and turned into a response in http/connection.ts. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly members: ProblemMembers;
  /** Header fields of the response, such as Retry-After. */
  readonly headers: Readonly<Record<string, string>>;
  /** Never part of the response. */
  readonly logFields: LogFields;

  /** @param sentence for a camera vendor: the fault, and what to do. It must not expose internals. */
  constructor(
    code: ProblemCode,
    sentence: string,
    members: ProblemMembers = {},
    headers: Readonly<Record<string, string>> = {},
    logFields: LogFields = {},
  ) {
    super(sentence);
    this.code = code;
    this.members = members;
    this.headers = headers;
    this.logFields = logFields;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }

  /**
   * @param requestId the id that the log has for this request.
   * @returns the response body: problem details as JSON text (RFC 9457, section 3).
   */
  body(requestId: string): string {
    const { status, title, retryable } = PROBLEMS[this.code];
    const { code, message: error, members } = this;
    const type = `urn:courtd:problem:${code}`;
    return JSON.stringify({ type, title, status, code, error, request_id: requestId, retryable, ...members });
  }
}

/** Why JSON text was rejected. */
export class JsonError extends Error {
  readonly code: 'invalid_json' | 'too_deep' | 'body_too_large';
  /** The byte offset. */
  readonly at: number;

  /** @param message the end of a sentence that starts with "The body" or "The event". */
  constructor(code: JsonError['code'], message: string, at: number) {
    super(message);
    this.code = code;
    this.at = at;
  }
}

/** @returns a problem that goes away by itself. @param seconds for Retry-After: rounded up, 1 at least (RFC 9110, 10.2.3). */
export function retryLater(code: ProblemCode, sentence: string, seconds: number): Problem {
  return new Problem(code, sentence, {}, { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) });
}

/** Why the store takes no events now: the code of the problem, its first sentence, and Retry-After in seconds. */
const REASONS = {
  busy: ['storage_busy', 'The store is locked by another program.', RETRY_AFTER_S.busy],
  full: ['storage_full', 'The disk is full.', RETRY_AFTER_S.full],
  failed: ['storage_failed', 'The store failed and is being restarted.', RETRY_AFTER_S.full],
  damaged: ['storage_failed', 'A part of the store is damaged: tell the operator.', RETRY_AFTER_S.full],
  walHeld: ['storage_busy', 'Another program has been reading the store for too long.', RETRY_AFTER_S.full],
  behind: ['storage_busy', 'The store has fallen behind.', RETRY_AFTER_S.full],
  overloaded: ['overloaded', 'Too many requests are waiting.', RETRY_AFTER_S.overloaded],
  shuttingDown: ['shutting_down', 'This box is restarting.', RETRY_AFTER_S.shutdown],
} as const satisfies Record<string, readonly [ProblemCode, string, number]>;

export type Unavailability = keyof typeof REASONS;

/** @returns the problem to answer with: 503, with Retry-After. */
export function unavailable(reason: Unavailability): Problem {
  const [code, sentence, seconds] = REASONS[reason];
  // After a failure the events may have been stored or not. Sending them again is safe: ingestion is idempotent.
  const rest =
    reason === 'failed' ? 'Send the same request again.' : 'Nothing was stored; send the same request again.';
  return retryLater(code, `${sentence} ${rest}`, seconds);
}
