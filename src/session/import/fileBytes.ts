import fs from 'node:fs';
import { finished } from 'node:stream/promises';
import zlib from 'node:zlib';
import { reasonOf } from '../../base/operatorError.ts';

/** Each gives 16 MiB at the most when it is unpacked, and 64 KiB of a pipe 64 (RFC 1951: a thousandfold). */
const READ_BYTES = 16 * 1024;
/** How a gzip file begins (RFC 1952, 2.3.1). */
const GZIP = Buffer.of(0x1f, 0x8b);
/** Most programs accept it instead of a file name. */
const STDIN = '-';

/** A fault of a file, and its line. */
export class FileFault extends Error {
  /** From 1 on; null if the file cannot be read at all. */
  readonly line: number | null;

  constructor(line: number | null, message: string) {
    super(message);
    this.line = line;
  }
}

/**
 * @param file its name, or `-` for standard input.
 * @yields the content of a file in pieces, unpacked if it is gzip. Everything that can be unpacked comes before the fault.
 * @throws {FileFault} without a line, if the rest cannot be read.
 */
export async function* readUnpacked(file: string): AsyncGenerator<Buffer> {
  const pieces = readPieces(file);
  const { value: first } = await pieces.next();
  if (first === undefined) return;
  async function* all() {
    yield first as Buffer;
    yield* pieces;
  }
  yield* first.indexOf(GZIP) === 0 ? unpack(all()) : all();
}

async function* readPieces(file: string): AsyncGenerator<Buffer, undefined> {
  try {
    // Standard input by its own stream: Node has made a pipe non-blocking, so another reader would get EAGAIN.
    if (file === STDIN) yield* process.stdin;
    else yield* fs.createReadStream(file, { highWaterMark: READ_BYTES });
  } catch (error) {
    const failure = error as NodeJS.ErrnoException;
    if (failure.errno === undefined) throw error;
    throw new FileFault(null, `it cannot be read: ${reasonOf(failure)}.`);
  }
}

/** Gunzip, one piece after another, and never paused: what has been unpacked would be dropped with an error. */
async function* unpack(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = zlib.createGunzip();
  const unpacked: Buffer[] = [];
  gunzip.on('data', (piece: Buffer) => unpacked.push(piece));
  const closed = finished(gunzip).then(
    () => '',
    ({ code }) => String(code),
  );
  let givenBytes = 0;
  for await (const piece of pieces) {
    givenBytes += piece.length;
    await Promise.race([new Promise((resolve) => gunzip.write(piece, resolve)), closed]);
    yield* unpacked.splice(0);
    if (gunzip.readableEnded || gunzip.destroyed) break;
  }
  gunzip.end();
  const code = await closed;
  yield* unpacked;
  if (code === 'Z_BUF_ERROR')
    throw new FileFault(null, 'the gzip data ends too early: the file was cut short.');
  if (code.startsWith('Z_')) throw new FileFault(null, 'the gzip data is damaged from here on.');
  // Node silently drops bytes after a member that are not another member.
  if (code !== '' || gunzip.bytesWritten !== givenBytes)
    throw new FileFault(null, 'behind the gzip data is something else: from here on nothing is read.');
}
