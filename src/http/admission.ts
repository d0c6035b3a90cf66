import type { Readable } from 'node:stream';
import {
  BODIES_IN_FLIGHT_BYTES,
  RETRY_AFTER_S,
  SMALL_BODY_BYTES,
  TRACKED_ADDRESSES,
} from '../base/limits.ts';
import { type Problem, retryLater } from '../protocol/errors.ts';

/** Paused streams that are resumed in one turn of the event loop; each then reads 64 KiB at most. */
const READS_PER_TURN = 8;
/** Bytes of a stream after which it is paused. */
const PAUSE_BYTES = 64 * 1024;
/** A body is cut off if its chunks are smaller than this on average, or that many of those discarded are: Node makes objects for each. */
export const TINY_CHUNKS = { bytes: 16, count: 4_096 } as const;

interface Bucket {
  tokens: number;
  /** Milliseconds of the monotonic clock: setting the box's clock must not stop a camera. */
  refilledAtMs: number;
}

/** Room for one body. */
export interface BodyRoom {
  reserve(bytes: number): void;
  release(): void;
}

/** What clients may use of the box: requests per second for each address; the bytes of large bodies, and turns to read them. */
export class Admission {
  readonly #perSecond: number;
  readonly #buckets = new Map<string, Bucket>();
  #bodyBytes = 0;
  readonly #paused = new Set<Readable>();
  readonly #taken = new WeakMap<Readable, number>();

  /** @param perSecond requests per second from one address, twice as many in a burst (spec 7); 0 turns the limit off. */
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
      const sentence = `${client} sent more than ${this.#perSecond} requests per second. Send fewer requests, with more events in each.`;
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
   * @returns functions that reserve and release the room of one body: its declared length, what has arrived so far, or its decoded
   * length. Up to SMALL_BODY_BYTES always fit; more if all together have at most BODIES_IN_FLIGHT_BYTES, or if it is the only one.
   * `reserve` throws 503 overloaded.
   */
  bodyRoom(): BodyRoom {
    let held = 0;
    const reserve = (bytes: number) => {
      if (bytes <= Math.max(SMALL_BODY_BYTES, held)) return;
      const others = this.#bodyBytes - held;
      if (others > 0 && others + bytes > BODIES_IN_FLIGHT_BYTES) throw overloaded();
      this.#bodyBytes = others + bytes;
      held = bytes;
    };
    const release = () => {
      this.#bodyBytes -= held;
    };
    return { reserve, release };
  }

  /**
   * Counts a chunk that was read, pauses its stream after PAUSE_BYTES, and resumes it in one of the next turns: two hundred large
   * bodies that arrive at the same time would fill a turn, and a camera's request takes several turns.
   */
  takeTurn(stream: Readable, bytes: number): void {
    const taken = (this.#taken.get(stream) ?? 0) + bytes;
    this.#taken.set(stream, taken % PAUSE_BYTES);
    if (taken < PAUSE_BYTES) return;
    stream.pause();
    if (this.#paused.size === 0) setImmediate(() => this.#resumeSome());
    this.#paused.add(stream);
  }

  #resumeSome(): void {
    let left = READS_PER_TURN;
    for (const stream of this.#paused) {
      if (left-- === 0) break;
      this.#paused.delete(stream);
      stream.resume();
    }
    if (this.#paused.size > 0) setImmediate(() => this.#resumeSome());
  }
}

/** @returns 503 overloaded, with Retry-After. */
export function overloaded(): Problem {
  const sentence =
    'Too many large requests are in progress. Nothing was stored; send the same request again.';
  return retryLater('overloaded', sentence, RETRY_AFTER_S.overloaded);
}
