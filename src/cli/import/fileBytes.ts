import fs from 'node:fs';
import { Readable } from 'node:stream';
import zlib from 'node:zlib';
import { reasonOf } from '../../base/operatorError.ts';
import { asCaller } from '../../base/processIdentity.ts';

/** Each gives 16 MiB at the most when it is unpacked (RFC 1951: a thousandfold). */
const READ_BYTES = 16 * 1024;

/** Why the rest of a file cannot be read. */
export class UnreadableFile extends Error {}

/** What most programs take in the place of a file name. */
const STDIN = '-';

/**
 * @param file its name, or `-` for standard input.
 * @param onRead is told how many bytes of the file have been read.
 * @yields the content of a file in pieces, unpacked where it begins as gzip does (RFC 1952, 2.3.1). All that can be unpacked comes
 * before what is wrong with the rest.
 * @throws {UnreadableFile}
 */
export async function* readUnpacked(file: string, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  const pieces = readPieces(file, onRead);
  try {
    const first = await pieces.next();
    if (first.done) return;
    const isGzip = first.value[0] === 0x1f && first.value[1] === 0x8b;
    if (isGzip) return yield* unpack(first.value, pieces);
    yield first.value;
    yield* pieces;
  } finally {
    // Whoever stops after the first piece is not kept by what a pipe may still bring.
    await pieces.return(undefined);
  }
}

/** The first piece has two bytes at least, unless the file has fewer. */
async function* readPieces(file: string, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  try {
    let kept: Buffer[] = [];
    for await (const some of openStream(file)) {
      onRead(some.length);
      for (let at = 0; at < some.length; at += READ_BYTES) {
        const piece = some.subarray(at, at + READ_BYTES);
        kept.push(piece);
        if (kept.length === 1 && piece.length === 1) continue;
        yield Buffer.concat(kept);
        kept = [];
      }
    }
    yield* kept;
  } catch (error) {
    const failure = error as NodeJS.ErrnoException;
    if (failure.errno === undefined) throw error;
    throw new UnreadableFile(`it cannot be read: ${reasonOf(failure)}.`);
  }
}

/** Standard input by its own stream: with that, Node has made a pipe non-blocking, and whoever reads it otherwise gets EAGAIN. */
function openStream(file: string): AsyncIterable<Buffer> {
  // Destroyed once it has been read: then nothing keeps the process, and a second time there is nothing.
  if (file === STDIN) return process.stdin.destroyed ? Readable.from([]) : process.stdin;
  return fs.createReadStream('', { fd: asCaller(() => fs.openSync(file, 'r')), highWaterMark: READ_BYTES });
}

/** One piece after another, and never paused: what has been unpacked would be dropped with an error. */
async function* unpack(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = zlib.createGunzip();
  const unpacked: Buffer[] = [];
  let failure: Error | undefined;
  let hasEnded = false;
  let given = 0;
  const closed = new Promise<void>((resolve) => gunzip.once('close', () => resolve()));
  gunzip.on('data', (piece: Buffer) => unpacked.push(piece));
  gunzip.on('error', (error) => {
    failure = error;
  });
  gunzip.on('end', () => {
    hasEnded = true;
  });
  const put = async (piece: Buffer) => {
    given += piece.length;
    await Promise.race([new Promise((resolve) => gunzip.write(piece, resolve)), closed]);
  };
  await put(first);
  yield* unpacked.splice(0);
  for await (const piece of rest) {
    if (failure !== undefined || hasEnded) break;
    await put(piece);
    yield* unpacked.splice(0);
  }
  gunzip.end();
  await closed;
  yield* unpacked.splice(0);
  // Node leaves out, without a word, what follows a member and is none (gunzip.ts).
  if (failure === undefined && !hasEnded) failure = new Error('it does not end');
  if (failure === undefined && gunzip.bytesWritten !== given) {
    throw new UnreadableFile('behind the gzip data is something else: from here on nothing is read.');
  }
  if (failure === undefined) return;
  const isCut = (failure as NodeJS.ErrnoException).code === 'Z_BUF_ERROR';
  throw new UnreadableFile(
    isCut
      ? 'the gzip data ends too early: the file was cut short.'
      : 'the gzip data is damaged from here on.',
  );
}
