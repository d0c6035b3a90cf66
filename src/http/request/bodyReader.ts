import { freeBuffer, freeMemory } from '../../base/ownMemory.ts';
import type { Permit } from '../admission/admissionControl.ts';
import type { PacedRequest } from '../connection/pacedRequest.ts';
import type { ReadTurns } from '../connection/readTurns.ts';
import { bodyTooLarge } from './preconditions.ts';

/** The smallest buffer for a body whose length is not declared. */
const MIN_BUFFER_BYTES = 4 * 1024;

/** The client disconnected before its body was complete: there is nobody to answer. */
export class ClientDisconnected extends Error {}

/**
 * Reads a body completely into one buffer.
 * @param permit reserves room for the body as it arrives.
 * @param turns of the server: a body in very small chunks takes turns of its own.
 * @param onPart called with what has arrived, where reading fails.
 * @throws {Problem} 413 body_too_large above `limitBytes`; 503 overloaded; 400 or 408 where the parser fails in the body.
 * @throws {ClientDisconnected}
 */
export function readBody(
  req: PacedRequest,
  limitBytes: number,
  permit: Permit,
  turns: ReadTurns,
  onPart: (part: Buffer) => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer(Number(req.headers['content-length'] ?? 0));
    const fail = (reason: Error, lastBytes?: Buffer) => {
      req.discardBody();
      if (body.sizeBytes > 0) onPart(body.part());
      else if (lastBytes !== undefined) onPart(lastBytes);
      reject(reason);
    };
    req.readInto({
      add(bytes) {
        try {
          if (body.sizeBytes + bytes.length > limitBytes) throw bodyTooLarge(limitBytes);
          permit.reserveBody(body.sizeBytes + bytes.length);
        } catch (problem) {
          return fail(problem as Error, bytes);
        }
        body.append(bytes);
        req.countChunk(turns);
      },
      end: () => resolve(body.contents()),
      failed: (problem) => fail(problem ?? new ClientDisconnected()),
    });
  });
}

/** A body in one contiguous buffer: 8 MiB in chunks of one byte would be a gigabyte of Buffer objects. */
class GrowingBuffer {
  readonly #declaredBytes: number;
  #bytes: Buffer | undefined;
  sizeBytes = 0;

  /** @param declaredBytes Content-Length; 0 where there is none. */
  constructor(declaredBytes: number) {
    this.#declaredBytes = declaredBytes;
  }

  append(chunk: Buffer): void {
    const size = this.sizeBytes + chunk.length;
    if (this.#bytes === undefined) {
      // Usually the first chunk is the whole body, and needs no copy.
      this.#bytes = chunk.length === this.#declaredBytes ? chunk : this.#reallocate(chunk, size);
    } else {
      const before = this.#bytes;
      if (size > before.length) {
        this.#bytes = this.#reallocate(before.subarray(0, this.sizeBytes), size);
        freeMemory(before.buffer);
      }
      chunk.copy(this.#bytes, this.sizeBytes);
    }
    if (chunk !== this.#bytes) freeBuffer(chunk);
    this.sizeBytes = size;
  }

  contents(): Buffer {
    return this.#bytes?.subarray(0, this.sizeBytes) ?? Buffer.alloc(0);
  }

  /** What has arrived of a body that ends here: nothing more is allocated than that, so that it can be freed (ownMemory.ts). */
  part(): Buffer {
    const bytes = this.contents();
    const isCut = this.#bytes !== undefined && this.sizeBytes < this.#bytes.length;
    return isCut ? Buffer.from((bytes.buffer as ArrayBuffer).transfer(this.sizeBytes)) : bytes;
  }

  #reallocate(bytes: Buffer, minBytes: number): Buffer {
    // Allocating the declared length is safe: the kernel commits no page before it is written to.
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#declaredBytes, 2 * minBytes, MIN_BUFFER_BYTES));
    bytes.copy(grown);
    return grown;
  }
}
