import {
  ANSWERS_UNTAKEN_BYTES,
  BODIES_BYTES,
  RETRY_AFTER_S,
  SERVED_REQUESTS,
  SMALL_BODY_BYTES,
} from '../../base/limits.ts';
import { type Problem, retryLater } from '../../protocol/errors.ts';

/** An amount that is bounded in all, with how much of it each network (clientAddress.ts) has. */
class Shared {
  readonly #byNetwork = new Map<string, number>();
  total = 0;

  of(network: string): number {
    return this.#byNetwork.get(network) ?? 0;
  }

  /** Of a bound, what each network may have when all of them want it. */
  part(bound: number): number {
    return bound / Math.max(1, this.#byNetwork.size);
  }

  add(network: string, amount: number): void {
    const own = this.of(network) + amount;
    if (own > 0) this.#byNetwork.set(network, own);
    else this.#byNetwork.delete(network);
    this.total += amount;
  }
}

/**
 * The one place that says there is too much: of requests that are being served, of bytes of their bodies, and of bytes of
 * answers that nobody takes. What does not fit is refused at once, at its head where that can be told (design 2).
 */
export class AdmissionControl {
  readonly #requests = new Shared();
  readonly #bodies = new Shared();
  readonly #untaken = new Shared();

  /**
   * Lets a request in; `leave` must follow. A network that has none being served is always let in.
   * @param bodyBytes as announced; 0 where that is not known.
   * @throws {Problem} 503.
   */
  enter(network: string, bodyBytes: number): Place {
    const requests = this.#requests;
    const own = requests.of(network);
    if (own > 0 && requests.total >= SERVED_REQUESTS && own >= requests.part(SERVED_REQUESTS)) {
      throw tooMuch(`${own} requests from ${network} are waiting already`);
    }
    const place = new Place(network, requests, this.#bodies);
    place.grow(bodyBytes);
    requests.add(network, 1);
    return place;
  }

  /**
   * An answer could not be handed to the kernel whole.
   * @returns what to call when it has been, or its connection is gone; undefined where too many are waiting: end the connection.
   */
  answerWaits(network: string, bytes: number): (() => void) | undefined {
    const untaken = this.#untaken;
    untaken.add(network, bytes);
    const leave = () => untaken.add(network, -bytes);
    const isFair = untaken.of(network) <= untaken.part(ANSWERS_UNTAKEN_BYTES);
    if (untaken.total <= ANSWERS_UNTAKEN_BYTES || isFair) return leave;
    leave();
    return undefined;
  }
}

/** What one request holds while it is served. */
export class Place {
  readonly #network: string;
  readonly #requests: Shared;
  readonly #bodies: Shared;
  /** 0 where it is small. */
  #bodyBytes = 0;

  constructor(network: string, requests: Shared, bodies: Shared) {
    this.#network = network;
    this.#requests = requests;
    this.#bodies = bodies;
  }

  /**
   * Its body is this large: it was announced so, has become so, or was decoded to it. One that is small always passes, and one
   * that is larger than the bound does where it is the only one; half of the bound is the most for one network.
   * @throws {Problem} 503 where there is no room for that.
   */
  grow(bytes: number): void {
    if (bytes <= Math.max(SMALL_BODY_BYTES, this.#bodyBytes)) return;
    const bodies = this.#bodies;
    const others = bodies.total - this.#bodyBytes;
    const ownOthers = bodies.of(this.#network) - this.#bodyBytes;
    const isTooMuch =
      (others > 0 && others + bytes > BODIES_BYTES) ||
      (ownOthers > 0 && ownOthers + bytes > BODIES_BYTES / 2);
    if (isTooMuch) throw tooMuch('Too many large requests are waiting');
    bodies.add(this.#network, bytes - this.#bodyBytes);
    this.#bodyBytes = bytes;
  }

  leave(): void {
    this.#bodies.add(this.#network, -this.#bodyBytes);
    this.#requests.add(this.#network, -1);
  }
}

/** @param what is too much, the beginning of a sentence. */
export function tooMuch(what: string): Problem {
  const sentence = `${what}. Nothing was stored; send the same request again.`;
  return retryLater('overloaded', sentence, RETRY_AFTER_S.overloaded);
}
