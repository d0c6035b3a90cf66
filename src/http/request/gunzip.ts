import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { freeBuffer, ownCopy } from '../../base/ownMemory.ts';
import { Problem } from '../../protocol/errors.ts';
import { bodyTooLarge } from './preconditions.ts';

/** The least that is decompressed at a time: the declared size may be wrong. */
const MIN_CHUNK_BYTES = 1024;
/** What is decompressed only to be counted. */
const COUNTED_CHUNK_BYTES = 256 * 1024;
const PIECE_BYTES = 16 * 1024;

/** What zlib.gunzip gives with `info: true`. */
interface GunzipResult {
  readonly buffer: Buffer;
  readonly engine: zlib.Gunzip;
}
const gunzipAsync = promisify(zlib.gunzip) as unknown as (
  body: Buffer,
  options: zlib.ZlibOptions,
) => Promise<GunzipResult>;

/**
 * Decompresses a gzip body: one or more members and nothing else (RFC 1952, 2.2). The output is bounded, since a few KiB can
 * expand to gigabytes. Runs in Node's thread pool: 8 MiB of empty blocks decompress to nothing, and take more than a second.
 * @throws {Problem} 400 invalid_encoding where the body is not gzip; 413 body_too_large above `limitBytes` decompressed.
 */
export async function gunzip(body: Buffer, limitBytes: number): Promise<Buffer> {
  const declared = declaredBytes(body);
  if (declared > limitBytes && (await expandsBeyond(body, limitBytes))) throw bodyTooLarge(limitBytes);
  try {
    // One chunk of the declared size: several would be concatenated, and be in memory twice. One byte more, since zlib allocates
    // another chunk once one is full.
    const chunkSize = Math.min(Math.max(declared, MIN_CHUNK_BYTES), limitBytes) + 1;
    const { buffer, engine } = await gunzipAsync(body, {
      maxOutputLength: limitBytes,
      chunkSize,
      info: true,
    });
    // Node silently ignores everything from a zero byte after a member on; another member may follow it.
    if (engine.bytesWritten === body.byteLength) return buffer;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(limitBytes);
  }
  throw new Problem('invalid_encoding', 'The body is not valid gzip, though Content-Encoding says so.');
}

/**
 * Decompresses without keeping anything: of a body that says itself that it is too large, two buffers of `limitBytes` would be
 * left to the garbage collector, several times a second.
 */
async function expandsBeyond(body: Buffer, limitBytes: number): Promise<boolean> {
  let bytes = 0;
  const engine = zlib.createGunzip({ chunkSize: COUNTED_CHUNK_BYTES });
  try {
    await pipeline(copiedPieces(body), engine, async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        bytes += chunk.length;
        freeBuffer(chunk);
        if (bytes > limitBytes) return;
      }
    });
  } catch {
    // It is no gzip, or its size is another one than it says; or the rest of it was not wanted.
  }
  return bytes > limitBytes;
}

/**
 * Each piece has memory of its own: a thread still reads the last one when there has been enough, and whoever has the body frees it
 * then.
 */
function* copiedPieces(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE_BYTES)
    yield ownCopy(body.subarray(at, Math.min(at + PIECE_BYTES, body.length)));
}

/** @returns ISIZE of the last member (RFC 1952, 2.3.1): only a hint, since it may be wrong, and there may be other members. */
function declaredBytes(body: Buffer): number {
  return body.length < 4 ? 0 : body.readUInt32LE(body.length - 4);
}
