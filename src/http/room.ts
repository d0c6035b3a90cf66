import { BODY_WAIT_MS, RETRY_AFTER_S, SMALL_BODY_BYTES, WAITING_BODIES_BYTES } from '../protocol/limits.ts';
import { type Problem, retryLater } from '../protocol/problems.ts';

/** The part of the room that one request's body takes, from its first byte to its answer. */
export interface Place {
  sizeBytes: number;
  /** How large the body will be (Content-Length), 0 where that is not known. */
  readonly announcedBytes: number;
  /** Set while the body is paused. */
  paused?: { readonly resume: () => void; readonly timer: NodeJS.Timeout };
}

/**
 * Bounds the bodies that have arrived and wait for the store (design 2). When the room is taken, larger bodies are
 * paused: the kernel's window then holds their senders back. One of them always goes on, or two hundred half-read
 * bodies would wait for each other for ever: not the oldest, which may have announced a body and sent nothing, but the first
 * of those that sent more when there was no room.
 */
export class Room {
  /** Those that are paused. */
  readonly #waiting = new Set<Place>();
  /** Bytes in all places. */
  #takenBytes = 0;
  /** Who goes on without room. */
  #privileged: Place | undefined;

  enter(announcedBytes: number): Place {
    return { sizeBytes: 0, announcedBytes };
  }

  /** A part of a body has arrived. @returns whether its reader may go on; if not, it calls `wait`. */
  grow(place: Place, bytes: number): boolean {
    place.sizeBytes += bytes;
    this.#takenBytes += bytes;
    return this.#mayGoOn(place);
  }

  /**
   * A body has been decoded and is now this large.
   * @throws {Problem} 503 where there is no room for what it has become.
   */
  adjust(place: Place, bytes: number): void {
    const growth = Math.max(0, bytes - place.sizeBytes);
    const isPrivileged = (this.#privileged ?? place) === place;
    const fits =
      isPrivileged || growth <= SMALL_BODY_BYTES || this.#takenBytes + growth <= WAITING_BODIES_BYTES;
    if (!fits) throw noRoom();
    this.grow(place, growth);
  }

  /** Calls `resume` when there is room again, or `refuse` when there was none for too long. */
  wait(place: Place, resume: () => void, refuse: (problem: Problem) => void): void {
    const timer = setTimeout(() => {
      this.stopWaiting(place);
      refuse(noRoom());
    }, BODY_WAIT_MS);
    place.paused = { resume, timer };
    this.#waiting.add(place);
  }

  /** Its body is whole after all: it came with what had been read already. */
  stopWaiting(place: Place): void {
    clearTimeout(place.paused?.timer);
    delete place.paused;
    this.#waiting.delete(place);
  }

  leave(place: Place): void {
    this.stopWaiting(place);
    if (this.#privileged === place) this.#privileged = undefined;
    this.#takenBytes -= place.sizeBytes;
    place.sizeBytes = 0;
    for (const other of this.#waiting) {
      if (!this.#mayGoOn(other)) return;
      const { paused } = other;
      this.stopWaiting(other);
      paused?.resume();
    }
  }

  #mayGoOn(place: Place): boolean {
    const isSmall = Math.max(place.sizeBytes, place.announcedBytes) <= SMALL_BODY_BYTES;
    if (isSmall || this.#takenBytes <= WAITING_BODIES_BYTES) return true;
    this.#privileged ??= place;
    return this.#privileged === place;
  }
}

export function noRoom(): Problem {
  const sentence = 'Too many large requests are waiting. Nothing was stored; send the same request again.';
  return retryLater('overloaded', sentence, RETRY_AFTER_S.overloaded);
}
