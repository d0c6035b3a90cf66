import { membersOf } from '../base/json.ts';

/** How a camera reacts to an answer: the rules of the vendor's guide (src/http/README.md, "Retrying"). */

/** The answer to one attempt. */
export interface Answer {
  /** 0: no complete answer, so the events may or may not be stored. */
  readonly status: number;
  /** As it was sent; empty where there was none. */
  readonly retryAfter: string;
  readonly body: string;
}

export type Decision =
  | { readonly kind: 'stored'; readonly duplicates: number }
  /** Send the same request again. @see Backoff */
  | { readonly kind: 'again'; readonly toldS: number | undefined; readonly why: string }
  /** Send fewer events at once. */
  | { readonly kind: 'split' }
  /** Events that will never be taken, by their position in the request; the others are fine. */
  | { readonly kind: 'drop'; readonly named: ReadonlySet<number>; readonly why: string }
  /** None of the request will ever be taken. */
  | { readonly kind: 'giveUp'; readonly why: string };

/** After a 401 without Retry-After: a person has to install the new token. */
const UNAUTHORIZED_WAIT_S = 30;
/** Characters of an answer that a message quotes. */
const QUOTED_CHARS = 300;

/** @param count events in the request, which was an array. */
export function decide({ status, retryAfter, body }: Answer, count: number): Decision {
  // Without members, it came from something in between, not from courtd.
  const answer = membersOf(body);
  const { accepted, duplicates, retryable, error } = answer;
  if (status === 202 && Number(accepted) + Number(duplicates) === count)
    return { kind: 'stored', duplicates: Number(duplicates) };
  const why = `${status === 0 ? 'no answer' : status}${typeof error === 'string' ? `: ${error.slice(0, QUOTED_CHARS)}` : ''}`;
  if (status === 413) return count > 1 ? { kind: 'split' } : { kind: 'giveUp', why };
  if (retryable === false) {
    const named = namedIn(answer.invalid, count);
    return named.size > 0 ? { kind: 'drop', named, why } : { kind: 'giveUp', why };
  }
  const seconds = /^[0-9]{1,3}$/.test(retryAfter) ? Number(retryAfter) : undefined;
  return { kind: 'again', toldS: seconds ?? (status === 401 ? UNAUTHORIZED_WAIT_S : undefined), why };
}

function namedIn(invalid: unknown, count: number): Set<number> {
  const indexes = Array.isArray(invalid) ? invalid.map((one) => one?.index) : [];
  return new Set(indexes.filter((index) => Number.isInteger(index) && index >= 0 && index < count));
}

const FIRST_WAIT_S = 1;
const LONGEST_WAIT_S = 30;
/** Random jitter on a wait, so that a hundred cameras do not retry in step. */
const JITTER = 0.2;

/** How long to wait before each next try of one request. */
export class Backoff {
  readonly #random: () => number;
  #next = FIRST_WAIT_S;

  /** @param random from 0 to below 1. */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** @param toldS what Retry-After said. @returns seconds: as told, else 1 s and twice as long each time, up to 30 s. */
  wait(toldS: number | undefined): number {
    const waitS = Math.max(FIRST_WAIT_S, toldS ?? this.#next);
    this.#next = Math.min(this.#next * 2, LONGEST_WAIT_S);
    return waitS * (1 + this.#random() * JITTER);
  }
}
