import { gunzipSync } from 'node:zlib';
import { Problem } from '../protocol/problems.ts';
import { bodyTooLarge } from './gate.ts';

/**
 * RFC 1952, bounded: a few KiB can hold gigabytes.
 * @throws {Problem} 400 where it is not gzip, 413 where it holds more than `limitBytes`.
 */
export function gunzip(body: Uint8Array, limitBytes: number): Buffer {
  try {
    // In one piece, of which the system gives what is used: pieces would be put together, and be there twice. With room for
    // one byte too many: a full piece is followed by another one.
    return gunzipSync(body, { maxOutputLength: limitBytes, chunkSize: limitBytes + 1 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(limitBytes);
    throw new Problem('invalid_encoding', 'The body is not valid gzip, though Content-Encoding says so.');
  }
}
