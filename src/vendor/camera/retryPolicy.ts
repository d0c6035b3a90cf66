import { membersOf } from '../../base/json.ts';

/** What a camera does after an answer: the rules of the vendor's guide (src/http/README.md, "Retrying"). */

/** The answer to one attempt. */
export interface BoxAnswer {
  /** 0: no complete answer, so the events may or may not be stored. */
  readonly status: number;
  /** As it was sent; empty if there was none. */
  readonly retryAfter: string;
  readonly body: string;
}

/** `why` is for people: the status, and the box's sentence if there is one. */
export type Decision =
  | { readonly kind: 'stored'; readonly duplicates: number }
  /** Send the same request again, after as long as `Backoff` says. */
  | { readonly kind: 'retry'; readonly toldMs: number | undefined; readonly why: string }
  /** Send the events in smaller requests: perhaps only one event is at fault. */
  | { readonly kind: 'split' }
  /** Drop the events at these positions of the request, and send the others: these will never be accepted. */
  | { readonly kind: 'drop'; readonly dropped: ReadonlySet<number>; readonly why: string };

/** After a 401 without Retry-After: a person has to install the new token. */
const UNAUTHORIZED_WAIT_MS = 30_000;
/** Characters of an answer that a message quotes. */
const QUOTED_CHARS = 300;

/**
 * @param count events in the request, which was an array.
 * @returns what to do with them. An answer that is not courtd's, such as a proxy's page, is retried.
 */
export function decide({ status, retryAfter, body }: BoxAnswer, count: number): Decision {
  const answer = membersOf(body);
  const { accepted, duplicates, retryable, error } = answer;
  if (status === 202 && Number(accepted) + Number(duplicates) === count)
    return { kind: 'stored', duplicates: Number(duplicates) };
  const why = `${status === 0 ? 'no answer' : status}${typeof error === 'string' ? `: ${error.slice(0, QUOTED_CHARS)}` : ''}`;
  if (status === 413 || retryable === false) {
    const named = namedIn(answer.invalid, count);
    if (named.length === 0 && count > 1 && (status === 413 || status === 400)) return { kind: 'split' };
    const all = Array.from({ length: count }, (_, index) => index);
    return { kind: 'drop', dropped: new Set(named.length > 0 ? named : all), why };
  }
  const toldMs = /^[0-9]{1,3}$/.test(retryAfter) ? Number(retryAfter) * 1000 : undefined;
  return { kind: 'retry', toldMs: toldMs ?? (status === 401 ? UNAUTHORIZED_WAIT_MS : undefined), why };
}

function namedIn(invalid: unknown, count: number): number[] {
  const indexes = Array.isArray(invalid) ? invalid.map((one) => one?.index) : [];
  return indexes.filter((index) => Number.isInteger(index) && index >= 0 && index < count);
}
