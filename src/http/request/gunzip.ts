import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { Problem } from '../../protocol/errors.ts';
import { bodyTooLarge } from './preconditions.ts';

const LEAST_PIECE_BYTES = 1024;
/** With `info`. */
interface Unpacked {
  readonly buffer: Buffer;
  readonly engine: zlib.Gunzip;
}
const unpack = promisify(zlib.gunzip) as unknown as (
  body: Uint8Array,
  options: zlib.ZlibOptions,
) => Promise<Unpacked>;

/**
 * RFC 1952, members and nothing else (2.2), bounded: a few KiB can hold gigabytes; and in a thread beside, since eight MiB of
 * empty blocks hold nothing and take more than a second.
 * @throws {Problem} 400 where it is not gzip, 413 where it holds more than `limitBytes`.
 */
export async function gunzip(body: Uint8Array, limitBytes: number): Promise<Buffer> {
  try {
    // In one piece, where it says how large it is: pieces would be put together, and be there twice. With room for one byte too
    // many: a full piece is followed by another one.
    const chunkSize = Math.min(Math.max(toldBytes(body), LEAST_PIECE_BYTES), limitBytes) + 1;
    const { buffer, engine } = await unpack(body, { maxOutputLength: limitBytes, chunkSize, info: true });
    // Node leaves out, without a word, whatever follows a zero byte behind a member: it may be another member.
    if (engine.bytesWritten === body.byteLength) return buffer;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(limitBytes);
  }
  throw new Problem('invalid_encoding', 'The body is not valid gzip, though Content-Encoding says so.');
}

/** @returns the size of its last member, as it says at its end (RFC 1952, 2.3.1): it may be wrong, and there may be others. */
function toldBytes({ buffer, byteOffset, byteLength }: Uint8Array): number {
  if (byteLength < 4) return 0;
  return new DataView(buffer, byteOffset, byteLength).getUint32(byteLength - 4, true);
}
