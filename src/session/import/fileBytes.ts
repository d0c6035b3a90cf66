import fs from 'node:fs';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import zlib from 'node:zlib';
import { reasonOf } from '../../base/operatorError.ts';

/** Each gives 16 MiB at the most when it is unpacked, and 64 KiB of a pipe 64 (RFC 1951: a thousandfold). */
const READ_BYTES = 16 * 1024;
/** How a gzip file begins (RFC 1952, 2.3.1). */
const GZIP = Buffer.of(0x1f, 0x8b);
/** How other files begin that somebody may give by mistake, and what they are. */
const OTHER_FILES = [
  ['PAR1', 'it is a Parquet file.'],
  ['PK\u0003\u0004', 'it is a workbook or another ZIP archive.'],
] as const;
/** An export is CSV unless it is asked for something else. */
export const OTHER_FORMAT = 'Files of events are NDJSON, such as an export with --format ndjson.';
/** Most programs accept it instead of a file name. */
const STDIN = '-';

/** Why the rest of a file cannot be read. */
export class UnreadableFile extends Error {}

/**
 * @param file its name, or `-` for standard input.
 * @yields the content of a file in pieces, unpacked if it is gzip. Everything that can be unpacked comes before the error.
 * @throws {UnreadableFile}
 */
export async function* readUnpacked(file: string): AsyncGenerator<Buffer> {
  let head = Buffer.alloc(0);
  let gzip: Unpacker | undefined;
  try {
    for await (const read of openStream(file)) {
      let piece = read;
      if (head.length < GZIP.length) {
        piece = head = Buffer.concat([head, read]);
        if (head.length < GZIP.length) continue;
        const other = OTHER_FILES.find(([begin]) => head.indexOf(begin) === 0);
        if (other !== undefined) throw new UnreadableFile(`${other[1]} ${OTHER_FORMAT}`);
        if (head.indexOf(GZIP) === 0) gzip = new Unpacker();
      }
      if (gzip === undefined) yield piece;
      else yield* await gzip.unpack(piece);
      if (gzip?.isOver) break;
    }
  } catch (error) {
    const failure = error as NodeJS.ErrnoException;
    if (failure.errno === undefined) throw error;
    if (failure.code === 'EISDIR') throw new UnreadableFile('it is a directory: name its files.');
    throw new UnreadableFile(`it cannot be read: ${reasonOf(failure)}.`);
  }
  if (gzip !== undefined) yield* gzip.rest();
  else if (head.length < GZIP.length) yield head;
}

/** Standard input by its own stream: Node has made a pipe non-blocking, so another reader would get EAGAIN. */
function openStream(file: string): AsyncIterable<Buffer> {
  // Destroyed once it has been read: then nothing keeps the process, and a second time there is nothing.
  if (file === STDIN) return process.stdin.destroyed ? Readable.from([]) : process.stdin;
  return fs.createReadStream('', { fd: fs.openSync(file, 'r'), highWaterMark: READ_BYTES });
}

/** Gunzip, one piece after another, and never paused: what has been unpacked would be dropped with an error. */
class Unpacker {
  readonly #gunzip = zlib.createGunzip();
  readonly #unpacked: Buffer[] = [];
  readonly #closed: Promise<NodeJS.ErrnoException | undefined>;
  #givenBytes = 0;

  constructor() {
    this.#gunzip.on('data', (piece: Buffer) => this.#unpacked.push(piece));
    this.#closed = finished(this.#gunzip).catch((error) => error);
  }

  /** Whether nothing more can be unpacked. */
  get isOver(): boolean {
    return this.#gunzip.readableEnded || this.#gunzip.destroyed;
  }

  async unpack(piece: Buffer): Promise<Buffer[]> {
    this.#givenBytes += piece.length;
    await Promise.race([new Promise((resolve) => this.#gunzip.write(piece, resolve)), this.#closed]);
    return this.#unpacked.splice(0);
  }

  /** @throws {UnreadableFile} if it has not ended, or something else follows. */
  async *rest(): AsyncGenerator<Buffer> {
    this.#gunzip.end();
    const code = (await this.#closed)?.code ?? '';
    yield* this.#unpacked;
    if (code === 'Z_BUF_ERROR')
      throw new UnreadableFile('the gzip data ends too early: the file was cut short.');
    if (code.startsWith('Z_')) throw new UnreadableFile('the gzip data is damaged from here on.');
    // Node leaves out, without a word, what follows a member and is none.
    if (code !== '' || this.#gunzip.bytesWritten !== this.#givenBytes)
      throw new UnreadableFile('behind the gzip data is something else: from here on nothing is read.');
  }
}
