import type { Place } from '../admission/admissionControl.ts';
import type { Connection } from '../connection/connection.ts';
import type { PacedRequest } from '../connection/pacedRequest.ts';
import { bodyTooLarge } from './preconditions.ts';

/** What a body is read into at first, where its length is not known. */
const BODY_BUFFER_BYTES = 4 * 1024;

/** The sender is gone before its body was complete: there is nobody to answer. */
export class SenderGone extends Error {}

/**
 * Reads a body whole, at most `limitBytes` of it.
 * @throws {Problem} 413; 503 where there is no room; what is wrong with it as HTTP; {SenderGone}.
 */
export function readBody(
  req: PacedRequest,
  connection: Connection,
  limitBytes: number,
  place: Place,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer(Number(req.headers['content-length'] ?? 0));
    const settle = () => {
      connection.readsBody(undefined);
      req.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
    };
    const fail = (reason: Error) => {
      settle();
      reject(reason);
    };
    const onData = (bytes: Buffer) => {
      try {
        if (body.sizeBytes + bytes.length > limitBytes) throw bodyTooLarge(limitBytes);
        place.grow(body.sizeBytes + bytes.length);
      } catch (problem) {
        return fail(problem as Error);
      }
      body.add(bytes);
      req.tookPart();
    };
    const onEnd = () => {
      settle();
      resolve(body.whole());
    };
    const onGone = () => fail(new SenderGone());
    connection.readsBody(fail);
    req.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
  });
}

/** A body as it comes, in one piece: eight MiB in chunks of one byte would be a gigabyte of objects. */
class GrowingBuffer {
  readonly #announcedBytes: number;
  #bytes: Buffer | undefined;
  sizeBytes = 0;

  constructor(announcedBytes: number) {
    this.#announcedBytes = announcedBytes;
  }

  add(part: Buffer): void {
    const size = this.sizeBytes + part.length;
    if (this.#bytes === undefined) {
      // Mostly the first is all of it.
      this.#bytes = part.length === this.#announcedBytes ? part : this.#grown(part, size);
    } else {
      if (size > this.#bytes.length) this.#bytes = this.#grown(this.#bytes.subarray(0, this.sizeBytes), size);
      part.copy(this.#bytes, this.sizeBytes);
    }
    this.sizeBytes = size;
  }

  whole(): Buffer {
    return this.#bytes?.subarray(0, this.sizeBytes) ?? Buffer.alloc(0);
  }

  #grown(bytes: Buffer, leastBytes: number): Buffer {
    // Of what is announced and never comes, the system gives nothing.
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#announcedBytes, 2 * leastBytes, BODY_BUFFER_BYTES));
    bytes.copy(grown);
    return grown;
  }
}
