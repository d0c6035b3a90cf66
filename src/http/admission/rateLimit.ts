import { TRACKED_ADDRESSES } from '../../base/limits.ts';
import { retryLater } from '../../protocol/errors.ts';

interface Bucket {
  tokens: number;
  /** Milliseconds of the monotonic clock: setting the box's clock must not stop a camera. */
  refilledAtMs: number;
}

/**
 * Rate limit by token bucket, one for each network (clientAddress.ts): `perSecond` requests sustained, twice as many in a burst
 * (spec 7: "rate limiting exists").
 */
export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, Bucket>();

  /** @param perSecond requests a second; 0 turns the limit off. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#burst = perSecond * 2;
  }

  /**
   * Takes one token.
   * @throws {Problem} 429 rate_limited, with the seconds in which there is a token again, 1 at most, as Retry-After.
   */
  take(network: string): void {
    if (this.#perSecond === 0) return;
    const now = performance.now();
    const bucket = this.#bucketOf(network, now);
    const refilled = bucket.tokens + ((now - bucket.refilledAtMs) / 1000) * this.#perSecond;
    bucket.tokens = Math.min(this.#burst, refilled);
    bucket.refilledAtMs = now;
    if (bucket.tokens < 1) {
      const sentence = `${network} sent more than ${this.#perSecond} requests a second: send fewer requests, with more events in each.`;
      throw retryLater('rate_limited', sentence, 1 / this.#perSecond);
    }
    bucket.tokens -= 1;
  }

  #bucketOf(network: string, now: number): Bucket {
    const known = this.#buckets.get(network);
    if (known !== undefined) return known;
    // The oldest is evicted, and starts again with a full bucket: most likely it was full anyway.
    if (this.#buckets.size >= TRACKED_ADDRESSES) this.#buckets.delete(this.#buckets.keys().next().value!);
    const bucket = { tokens: this.#burst, refilledAtMs: now };
    this.#buckets.set(network, bucket);
    return bucket;
  }
}
