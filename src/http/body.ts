import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { Problem } from '../protocol/errors.ts';
import { type Admission, type BodyRoom, TINY_CHUNKS } from './admission.ts';
import type { PendingRequest } from './connection.ts';
import { bodyTooLarge } from './preconditions.ts';

/** The smallest buffer for a body whose length is not declared. */
const MIN_BUFFER_BYTES = 4 * 1024;

/** The client disconnected before its body was complete: there is nobody to answer. */
export class ClientDisconnected extends Error {}

/**
 * Reads a body completely into one buffer: 8 MiB in chunks of one byte would be a gigabyte of Buffer objects.
 * @throws {Problem} 413 body_too_large; 503 overloaded; 400 for tiny chunks; what `failBody` is called with.
 * @throws {ClientDisconnected}
 */
export function readBody(
  request: PendingRequest,
  limitBytes: number,
  admission: Admission,
  room: BodyRoom,
): Promise<Buffer> {
  const { req } = request;
  const declaredBytes = Number(req.headers['content-length'] ?? 0);
  const isChunked = req.headers['transfer-encoding'] !== undefined;
  return new Promise((resolve, reject) => {
    let body: Buffer | undefined;
    let size = 0;
    let chunks = 0;
    const add = (chunk: Buffer) => {
      const before = size;
      size += chunk.length;
      chunks++;
      try {
        if (size > limitBytes) throw bodyTooLarge(limitBytes);
        if (isChunked && chunks >= TINY_CHUNKS.count && size < chunks * TINY_CHUNKS.bytes) throw tinyChunks();
        room.reserve(size);
      } catch (problem) {
        return fail(problem as Error);
      }
      // Usually the first chunk is the whole body, and needs no copy and no turn.
      if (body === undefined && chunk.length === declaredBytes) body = chunk;
      else body = append(body, before, chunk, declaredBytes);
      if (size !== declaredBytes) admission.takeTurn(req, chunk.length);
    };
    const fail = (reason: Error) => {
      req.off('data', add);
      reject(reason);
    };
    request.failBody = fail;
    req.on('data', add);
    req.once('end', () => resolve(body?.subarray(0, size) ?? Buffer.alloc(0)));
    req.once('error', () => fail(new ClientDisconnected()));
    req.once('close', () => req.complete || fail(new ClientDisconnected()));
  });
}

/** @returns a buffer with `chunk` behind the first `size` bytes of `body`, which is used again if it has room. */
function append(body: Buffer | undefined, size: number, chunk: Buffer, declaredBytes: number): Buffer {
  let into = body;
  if (into === undefined || size + chunk.length > into.length) {
    // To allocate the declared length is safe: the kernel commits no page before it is written to.
    into = Buffer.allocUnsafeSlow(Math.max(declaredBytes, 2 * (size + chunk.length), MIN_BUFFER_BYTES));
    body?.copy(into, 0, 0, size);
  }
  chunk.copy(into, size);
  return into;
}

function tinyChunks(): Problem {
  const sentence = `The body came in chunks of less than ${TINY_CHUNKS.bytes} bytes. Send it in larger chunks, or with Content-Length.`;
  return new Problem('malformed_request', sentence);
}

/** @returns whether a body starts as gzip does (RFC 1952, 2.3.1), whatever its Content-Encoding says. */
export function isGzip(body: Buffer | undefined): boolean {
  return body?.[0] === 0x1f && body[1] === 0x8b;
}

/** What zlib.gunzip gives with `info: true`. */
const gunzipWithInfo = promisify(zlib.gunzip) as unknown as (
  body: Buffer,
  options: zlib.ZlibOptions,
) => Promise<{ readonly buffer: Buffer; readonly engine: zlib.Gunzip }>;

/**
 * Decompresses a gzip body: one or more members and nothing else (RFC 1952, 2.2). The output is bounded, since a few KiB can
 * expand to gigabytes. Runs in Node's thread pool: 8 MiB of empty blocks take more than a second.
 * @throws {Problem} 400 invalid_encoding; 413 body_too_large above `limitBytes` decompressed.
 */
export async function gunzip(body: Buffer, limitBytes: number): Promise<Buffer> {
  try {
    const { buffer, engine } = await gunzipWithInfo(body, { maxOutputLength: limitBytes, info: true });
    // Node ignores everything behind a zero byte after a member.
    if (engine.bytesWritten === body.byteLength) return buffer;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(limitBytes);
  }
  throw new Problem('invalid_encoding', 'The body is not valid gzip, although Content-Encoding is gzip.');
}
