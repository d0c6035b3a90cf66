import {
  BODIES_IN_FLIGHT_BYTES,
  RETRY_AFTER_S,
  SMALL_BODY_BYTES,
  TRACKED_ADDRESSES,
  UNSENT_RESPONSES_BYTES,
} from '../base/limits.ts';
import { type Problem, retryLater } from '../protocol/errors.ts';

interface Bucket {
  tokens: number;
  /** Milliseconds of the monotonic clock: setting the box's clock must not stop a camera. */
  refilledAtMs: number;
}

/** What clients may use of the box: requests a second for each address, and in all the bytes of large bodies and unread responses. */
export class Admission {
  readonly #perSecond: number;
  readonly #buckets = new Map<string, Bucket>();
  #bodyBytes = 0;
  #unsentBytes = 0;

  /** @param perSecond requests a second from one address, twice as many in a burst (spec 7); 0 turns the limit off. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /**
   * Counts a request of this address: a token bucket.
   * @throws {Problem} 429 rate_limited, with Retry-After.
   */
  takeRequest(client: string): void {
    if (this.#perSecond === 0) return;
    const now = performance.now();
    const bucket = this.#bucketOf(client, now);
    const refilled = bucket.tokens + ((now - bucket.refilledAtMs) / 1000) * this.#perSecond;
    bucket.tokens = Math.min(2 * this.#perSecond, refilled);
    bucket.refilledAtMs = now;
    if (bucket.tokens < 1) {
      const sentence = `${client} sent more than ${this.#perSecond} requests a second. Send fewer requests, with more events in each.`;
      throw retryLater('rate_limited', sentence, 1 / this.#perSecond);
    }
    bucket.tokens -= 1;
  }

  #bucketOf(client: string, now: number): Bucket {
    const known = this.#buckets.get(client);
    if (known !== undefined) return known;
    // The oldest is evicted, and starts again with a full bucket: most likely it was full anyway.
    if (this.#buckets.size >= TRACKED_ADDRESSES) this.#buckets.delete(this.#buckets.keys().next().value!);
    const bucket = { tokens: 2 * this.#perSecond, refilledAtMs: now };
    this.#buckets.set(client, bucket);
    return bucket;
  }

  /**
   * Reserves room for a body: its declared length, what has arrived so far, or its decoded length. A body of up to SMALL_BODY_BYTES
   * always fits; a larger one if all together have at most BODIES_IN_FLIGHT_BYTES, or if it is the only one.
   * @param held what it has reserved so far. @returns what it has reserved now; pass it to `release`.
   * @throws {Problem} 503 overloaded.
   */
  reserveBody(held: number, bytes: number): number {
    if (bytes <= Math.max(SMALL_BODY_BYTES, held)) return held;
    const others = this.#bodyBytes - held;
    if (others > 0 && others + bytes > BODIES_IN_FLIGHT_BYTES) throw overloaded();
    this.#bodyBytes = others + bytes;
    return bytes;
  }

  release(held: number): void {
    this.#bodyBytes -= held;
  }

  /** Counts a response that the kernel could not take. @returns what to call when it is gone; undefined if there are too many bytes. */
  reserveUnsent(bytes: number): (() => void) | undefined {
    if (this.#unsentBytes + bytes > UNSENT_RESPONSES_BYTES) return undefined;
    this.#unsentBytes += bytes;
    return () => {
      this.#unsentBytes -= bytes;
    };
  }
}

/** @returns 503 overloaded, with Retry-After. */
export function overloaded(): Problem {
  const sentence =
    'Too many large requests are in progress. Nothing was stored; send the same request again.';
  return retryLater('overloaded', sentence, RETRY_AFTER_S.overloaded);
}
