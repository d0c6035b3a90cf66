import { JOINED_PART_BYTES } from '../protocol/limits.ts';
import { free } from './free.ts';
import { bodyTooLarge } from './gate.ts';
import { readOn } from './hold.ts';
import type { CourtRequest } from './request.ts';
import type { Place, Room } from './room.ts';

/** The sender is gone before its body was complete: there is nobody to answer. */
export class SenderGone extends Error {}

/**
 * Reads a body whole, at most `limitBytes` of it.
 * @throws {Problem} 413, or 503 where there is no room; {SenderGone}.
 */
export function readBody(req: CourtRequest, limitBytes: number, room: Room, place: Place): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts = new Parts();
    const settle = () => {
      req.readBy(undefined);
      req.off('close', onGone).off('error', onGone);
    };
    const fail = (reason: Error) => {
      settle();
      parts.free();
      reject(reason);
    };
    const part = (bytes: Buffer): boolean => {
      parts.add(bytes);
      if (parts.sizeBytes > limitBytes) {
        fail(bodyTooLarge(limitBytes));
        return true;
      }
      if (room.grow(place, bytes.length)) return true;
      if (place.paused === undefined) room.wait(place, () => readOn(req.socket), fail);
      return false;
    };
    const end = () => {
      settle();
      room.stopWaiting(place);
      resolve(parts.whole());
    };
    const onGone = () => fail(new SenderGone());
    req.readBy({ part, end });
    req.on('close', onGone).on('error', onGone);
  });
}

/** A body as it comes. Small parts are copied together: eight MiB in chunks of one byte would be a gigabyte of objects. */
class Parts {
  readonly #parts: Buffer[] = [];
  /** The last of the parts, where it has room for more. */
  #open: Buffer | undefined;
  #usedBytes = 0;
  sizeBytes = 0;

  add(part: Buffer): void {
    this.sizeBytes += part.length;
    // The first is mostly all of it.
    if (this.#parts.length === 0 || part.length >= JOINED_PART_BYTES) {
      this.#close();
      this.#parts.push(part);
      return;
    }
    if (this.#usedBytes + part.length > JOINED_PART_BYTES) this.#close();
    if (this.#open === undefined) {
      this.#open = Buffer.allocUnsafe(JOINED_PART_BYTES);
      this.#parts.push(this.#open);
    }
    this.#usedBytes += part.copy(this.#open, this.#usedBytes);
  }

  whole(): Buffer {
    this.#close();
    if (this.#parts.length === 1) return this.#parts[0]!;
    const whole = Buffer.allocUnsafeSlow(this.sizeBytes);
    let at = 0;
    // Each is given back at once, so that the body is never there twice.
    for (const part of this.#parts) {
      at += part.copy(whole, at);
      free(part);
    }
    return whole;
  }

  /** They are not needed any more. */
  free(): void {
    for (const part of this.#parts) free(part);
  }

  #close(): void {
    if (this.#open === undefined) return;
    this.#parts[this.#parts.length - 1] = this.#open.subarray(0, this.#usedBytes);
    this.#open = undefined;
    this.#usedBytes = 0;
  }
}
