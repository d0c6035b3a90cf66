import { RATE_ADDRESSES } from '../../base/limits.ts';
import { retryLater } from '../../protocol/errors.ts';

interface Bucket {
  tokens: number;
  /** Milliseconds of the monotonic clock: setting the box's clock must not stop a camera. */
  atMs: number;
}

/** A token bucket for each client address (of IPv6, for each /64): `perSecond` in the long run, twice that at once (design 2). */
export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, Bucket>();

  /** @param perSecond requests a second; 0 turns the limit off. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#burst = perSecond * 2;
  }

  /** @throws {Problem} 429 with the seconds until the next request will be taken. */
  take(address: string): void {
    if (this.#perSecond === 0) return;
    const now = performance.now();
    const bucket = this.#bucket(address, now);
    const refilled = bucket.tokens + ((now - bucket.atMs) / 1000) * this.#perSecond;
    bucket.tokens = Math.min(this.#burst, refilled);
    bucket.atMs = now;
    if (bucket.tokens < 1) {
      const sentence = `More than ${this.#perSecond} requests a second from ${address}: send fewer, with more events each.`;
      throw retryLater('rate_limited', sentence, (1 - bucket.tokens) / this.#perSecond);
    }
    bucket.tokens -= 1;
  }

  #bucket(address: string, now: number): Bucket {
    const known = this.#buckets.get(address);
    if (known !== undefined) return known;
    // Forgetting the oldest is generous to it: its bucket was most likely full again.
    if (this.#buckets.size >= RATE_ADDRESSES) this.#buckets.delete(this.#buckets.keys().next().value!);
    const bucket = { tokens: this.#burst, atMs: now };
    this.#buckets.set(address, bucket);
    return bucket;
  }
}
