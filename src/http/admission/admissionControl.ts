import {
  BODIES_IN_FLIGHT_BYTES,
  CONCURRENT_REQUESTS,
  RETRY_AFTER_S,
  SMALL_BODY_BYTES,
  UNSENT_RESPONSES_BYTES,
} from '../../base/limits.ts';
import { type Problem, retryLater } from '../../protocol/errors.ts';

/** How much of a bounded resource is in use, in all and by network (clientAddress.ts). */
class Usage {
  readonly #byNetwork = new Map<string, number>();
  total = 0;

  of(network: string): number {
    return this.#byNetwork.get(network) ?? 0;
  }

  /** @returns what each network may use of `bound` while all of the current ones compete for it. */
  fairShare(bound: number): number {
    return bound / this.#byNetwork.size;
  }

  add(network: string, amount: number): void {
    const own = this.of(network) + amount;
    if (own > 0) this.#byNetwork.set(network, own);
    else this.#byNetwork.delete(network);
    this.total += amount;
  }
}

/**
 * Admission control: bounds the requests being served, the bytes of their bodies, and the bytes of responses that clients do not
 * read. What does not fit is shed at once, at the request's head where its length is declared (DESIGN.md).
 */
export class AdmissionControl {
  readonly #requests = new Usage();
  readonly #bodies = new Usage();
  readonly #unsent = new Usage();

  /**
   * Admits a request; the permit must be released. A network that has no other request being served is always admitted.
   * @param bodyBytes as declared by Content-Length; 0 where it is not.
   * @throws {Problem} 503 overloaded.
   */
  admit(network: string, bodyBytes: number): Permit {
    const requests = this.#requests;
    const own = requests.of(network);
    if (requests.total >= CONCURRENT_REQUESTS && own >= requests.fairShare(CONCURRENT_REQUESTS)) {
      throw overloaded(`${own} requests from ${network} are already in progress`);
    }
    const permit = new Permit(network, requests, this.#bodies);
    permit.reserveBody(bodyBytes);
    requests.add(network, 1);
    return permit;
  }

  /**
   * Counts a response that the kernel could not take completely.
   * @returns what to call when it has been sent or its connection is gone; undefined where the network exceeds its fair share of
   * the bound, and the connection is to be destroyed.
   */
  admitUnsent(network: string, bytes: number): (() => void) | undefined {
    const unsent = this.#unsent;
    unsent.add(network, bytes);
    const release = () => unsent.add(network, -bytes);
    const isWithinShare = unsent.of(network) <= unsent.fairShare(UNSENT_RESPONSES_BYTES);
    if (unsent.total <= UNSENT_RESPONSES_BYTES || isWithinShare) return release;
    release();
    return undefined;
  }
}

/** What one admitted request uses until it is released. */
export class Permit {
  readonly #network: string;
  readonly #requests: Usage;
  readonly #bodies: Usage;
  /** 0 while the body is small. */
  #bodyBytes = 0;

  constructor(network: string, requests: Usage, bodies: Usage) {
    this.#network = network;
    this.#requests = requests;
    this.#bodies = bodies;
  }

  /**
   * Reserves room for the body: for its declared length, for what has arrived so far, or for its decoded length. A body of up to
   * SMALL_BODY_BYTES always fits. A larger one must fit into the bound together with all others, and into half of it together
   * with the others of its network; where there are no others it fits, whatever its size.
   * @param bytes the whole body, not the difference from the last call.
   * @throws {Problem} 503 overloaded.
   */
  reserveBody(bytes: number): void {
    if (bytes <= Math.max(SMALL_BODY_BYTES, this.#bodyBytes)) return;
    const bodies = this.#bodies;
    const others = bodies.total - this.#bodyBytes;
    const ownOthers = bodies.of(this.#network) - this.#bodyBytes;
    const exceeds =
      (others > 0 && others + bytes > BODIES_IN_FLIGHT_BYTES) ||
      (ownOthers > 0 && ownOthers + bytes > BODIES_IN_FLIGHT_BYTES / 2);
    if (exceeds) throw overloaded('Too many large requests are already in progress');
    bodies.add(this.#network, bytes - this.#bodyBytes);
    this.#bodyBytes = bytes;
  }

  release(): void {
    this.#bodies.add(this.#network, -this.#bodyBytes);
    this.#requests.add(this.#network, -1);
  }
}

/**
 * @param reason the first sentence, without its full stop.
 * @returns 503 overloaded, with Retry-After.
 */
export function overloaded(reason: string): Problem {
  const sentence = `${reason}. Nothing was stored; send the same request again.`;
  return retryLater('overloaded', sentence, RETRY_AFTER_S.overloaded);
}
