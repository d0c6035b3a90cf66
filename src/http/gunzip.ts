import { gunzipSync } from 'node:zlib';
import { Problem } from '../protocol/problems.ts';

/**
 * RFC 1952, bounded: a few KiB can hold gigabytes.
 * @returns undefined where it holds more than `limitBytes`.
 * @throws {Problem} 400 where it is not gzip.
 */
export function gunzip(body: Uint8Array, limitBytes: number): Buffer | undefined {
  try {
    // In one piece, of which the system gives what is used: pieces would be put together, and be there twice. With room for
    // one byte too many: a full piece is followed by another one.
    return gunzipSync(body, { maxOutputLength: limitBytes, chunkSize: limitBytes + 1 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
    throw new Problem('invalid_encoding', 'The body is not valid gzip, though Content-Encoding says so.');
  }
}
