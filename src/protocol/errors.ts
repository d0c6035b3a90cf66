/**
 * The closed table of everything that courtd answers other than 202. A client branches on `code`; a test holds
 * the table against the README. Error bodies are RFC 9457 problems that also carry the protocol's own members.
 */

interface Kind {
  readonly status: number;
  readonly title: string;
  /** Whether the same events, sent again unchanged, may be taken: after a 401 with the venue's new token. */
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

/** One fault of one event: a dotted path (`payload.x_ft`) and what must hold there. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** What a problem says beyond its code and sentence. */
export interface ProblemMembers {
  /** Faults of a request that was one event. */
  readonly details?: readonly Fault[];
  readonly details_total?: number;
  /** Faults of a request that was an array. */
  readonly invalid?: readonly InvalidEvent[];
  readonly invalid_total?: number;
  /** For `body_too_large`: both in bytes; the size where it was declared. */
  readonly limit_bytes?: number;
  readonly size_bytes?: number;
  /** For `body_too_large`, where the body has too many JSON values. */
  readonly limit_values?: number;
}

/** What the log says of a refusal beyond its answer, where it is known. */
export interface LoggedOnly {
  /** Why a token was not accepted: its sender is not told. */
  readonly reason?: string;
  /** Of the first invalid event. */
  readonly source?: string;
  readonly court_id?: string;
}

export interface InvalidEvent {
  /** Position in the request's array, from 0. */
  readonly index: number;
  /** As sent where it is a string of a possible length, else null. */
  readonly event_id: string | null;
  readonly issues: readonly Fault[];
  /** Present where more faults were found than are listed. */
  readonly issues_total?: number;
}

/** A request's refusal: thrown below, answered by the one writer of answers in `http/reply`. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly members: ProblemMembers;
  /** Header fields that belong to this answer, such as Retry-After. */
  readonly headers: Readonly<Record<string, string>>;
  /** Never in the answer. */
  readonly logged: LoggedOnly;

  constructor(
    code: ProblemCode,
    sentence: string,
    members: ProblemMembers = {},
    headers: Readonly<Record<string, string>> = {},
    logged: LoggedOnly = {},
  ) {
    super(sentence);
    this.code = code;
    this.members = members;
    this.headers = headers;
    this.logged = logged;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }

  /**
   * The answer's body.
   * @param requestId what the log calls this request.
   */
  body(requestId: string): string {
    const { status, title, retryable } = PROBLEMS[this.code];
    const { code, message: error, members } = this;
    const type = `urn:courtd:problem:${code}`;
    return JSON.stringify({ type, title, status, code, error, request_id: requestId, retryable, ...members });
  }
}

/** A refusal that passes by itself: answered with Retry-After. */
export function retryLater(code: ProblemCode, sentence: string, seconds: number): Problem {
  return new Problem(code, sentence, {}, { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) });
}
