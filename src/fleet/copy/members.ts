import fs, { constants } from 'node:fs/promises';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { linesIn, type StoredChunk, seqOf, UNPACKED_BYTES_MAX } from '../log/chunk.ts';
import type { CopyFile } from './copyFiles.ts';

/** The inside of a copy's file: gzip members, one for each chunk, so that "zcat" prints the log, and what a crash cut off shows. */

/** How zlib begins every member: deflate, no flags, no time. */
const MAGIC = Buffer.from('1f8b080000000000', 'hex');
const HEADER_BYTES = 10;
/** CRC-32 of the content, and its length. */
const TRAILER_BYTES = 8;
const PIECE_BYTES = 1024 ** 2;

/** A part of a file, in bytes; the parts of a file follow each other from its first byte to its last. */
interface Part {
  readonly from: number;
  readonly to: number;
  /** Of a whole member. Undefined: bytes that are no whole member. */
  readonly chunk: StoredChunk | undefined;
  /** The member as it stands there. */
  readonly data: Buffer;
}

/** @returns lines, with their line ends, as a member. */
export const packMember: (lines: string) => Promise<Buffer> = promisify<string, Buffer>(zlib.gzip);

/**
 * Reads a file of a copy in memory for one chunk or two. Behind bytes that are no whole member it goes on with the next that is: so
 * such a part at the end of a file is a torn tail, and elsewhere it is damage.
 * @throws Node's error, of the file.
 */
export async function* readParts({ path, after }: CopyFile): AsyncGenerator<Part> {
  // A pipe in its place is not waited for: it gives an error when it is read.
  const handle = await fs.open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    yield* partsOf(handle, after);
  } finally {
    await handle.close();
  }
}

async function* partsOf(handle: fs.FileHandle, begin: number): AsyncGenerator<Part> {
  let [rest, at, last, isEnd, badFrom] = [Buffer.alloc(0), 0, begin, false, -1];
  for (;;) {
    const member = memberIn(rest, last);
    if (member === 'unfinished' && !isEnd && rest.length < UNPACKED_BYTES_MAX) {
      const more = Buffer.alloc(Math.max(PIECE_BYTES, rest.length));
      const { bytesRead } = await handle.read(more, 0, more.length, at + rest.length);
      isEnd = bytesRead === 0;
      rest = Buffer.concat([rest, more.subarray(0, bytesRead)]);
      continue;
    }
    const isWhole = typeof member === 'object';
    if (badFrom >= 0 && (isWhole || rest.length === 0))
      yield { from: badFrom, to: at, chunk: undefined, data: Buffer.alloc(0) };
    if (rest.length === 0) return;
    if (isWhole) {
      yield { from: at, to: at + member.data.length, ...member };
      last = member.chunk.last;
    }
    const length = isWhole ? member.data.length : untilNext(rest, isEnd);
    badFrom = isWhole ? -1 : badFrom < 0 ? at : badFrom;
    at += length;
    rest = rest.subarray(length);
  }
}

/** @returns the bytes to the next place at which a member may begin. */
function untilNext(bytes: Buffer, isEnd: boolean): number {
  const next = bytes.indexOf(MAGIC, 1);
  if (next >= 0) return next;
  return isEnd ? bytes.length : Math.max(1, bytes.length - MAGIC.length + 1);
}

function memberIn(
  bytes: Buffer,
  after: number,
): { data: Buffer; chunk: StoredChunk } | 'unfinished' | 'damaged' {
  if (bytes.length < HEADER_BYTES) return 'unfinished';
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return 'damaged';
  try {
    const options = { info: true, maxOutputLength: UNPACKED_BYTES_MAX, chunkSize: PIECE_BYTES };
    const inflated = zlib.inflateRawSync(bytes.subarray(HEADER_BYTES), options);
    // What `info` gives, which the types do not know.
    const { buffer, engine } = inflated as unknown as { buffer: Buffer; engine: zlib.InflateRaw };
    const end = HEADER_BYTES + engine.bytesWritten;
    if (bytes.length < end + TRAILER_BYTES) return 'unfinished';
    const isSound =
      bytes.readUInt32LE(end) === zlib.crc32(buffer) && bytes.readUInt32LE(end + 4) === buffer.length;
    const lines = linesIn(buffer.toString());
    const seqs = lines.map(seqOf);
    const isLog = lines.length > 0 && seqs.every((seq, i) => seq > (seqs[i - 1] ?? 0));
    if (!isSound || !isLog) return 'damaged';
    return { chunk: { after, last: seqs.at(-1)!, lines }, data: bytes.subarray(0, end + TRAILER_BYTES) };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'Z_BUF_ERROR' ? 'unfinished' : 'damaged';
  }
}
