import { constants, crc32, deflateRawSync } from 'node:zlib';
import { OperatorError } from '../../base/operatorError.ts';
import type { Sink } from '../../base/sink.ts';
import type { Piece, ScratchFile } from './scratchFile.ts';

/**
 * A ZIP archive (PKWARE APPNOTE 6.3) whose entries grow side by side: an event goes to one of several sheets, and a million of
 * them do not fit into memory. The ZIP libraries write one entry after the other. Without ZIP64: an archive has less than 4 GiB.
 */

/** Text is compressed in blocks of this many characters: the larger, the better, and more memory an entry. */
const BLOCK_CHARS = 256 * 1024;
/** Level 6 makes the file a sixth smaller, and the export of a million events a quarter slower. */
const LEVEL = 3;
/** ZIP holds sizes and positions in 32 bits; 2^32 - 1 would mean ZIP64. */
const BYTES_MAX = 2 ** 32 - 2;
/** 1980-01-01, the earliest time that ZIP knows: an entry's time is of no use, and so the same events give the same bytes. */
const DOS_DATE = 0x21;
/** Version 2.0: deflate. */
const VERSION = 20;
const DEFLATED = 8;

/** A file in the archive, compressed as it is written. Only what has not filled a block yet is in memory. */
export class ZipEntry {
  readonly name: string;
  readonly #scratch: ScratchFile;
  readonly #pieces: Piece[] = [];
  #texts: string[] = [];
  #chars = 0;
  #crc = 0;
  /** Bytes as written, and compressed. */
  #bytes = 0;
  #compressed = 0;

  constructor(name: string, scratch: ScratchFile) {
    this.name = name;
    this.#scratch = scratch;
  }

  /** Bytes written so far, but for those of the block that is being filled. */
  get bytes(): number {
    return this.#bytes;
  }

  write(text: string): void {
    this.#texts.push(text);
    this.#chars += text.length;
    if (this.#chars >= BLOCK_CHARS) this.#compress(constants.Z_SYNC_FLUSH);
  }

  /** Writes header and content. @param at the position of the header in the archive. @returns the entry of the directory. */
  async writeTo(sink: Sink, at: number): Promise<{ readonly directory: Buffer; readonly end: number }> {
    this.#compress(constants.Z_FINISH);
    const name = Buffer.from(this.name);
    const end = at + 30 + name.length + this.#compressed;
    if (Math.max(end, this.#bytes) > BYTES_MAX) throw tooLarge();
    await sink.write(Buffer.concat([this.#header(), name]));
    for (const piece of this.#pieces) await sink.write(this.#scratch.read(piece));
    return { directory: Buffer.concat([this.#directoryHeader(at), name]), end };
  }

  /** Blocks that end in a sync flush may stand one behind the other: together they are one deflate stream (RFC 1951). */
  #compress(finishFlush: number): void {
    const block = Buffer.from(this.#texts.join(''));
    this.#texts = [];
    this.#chars = 0;
    this.#crc = crc32(block, this.#crc);
    this.#bytes += block.length;
    const piece = this.#scratch.append(deflateRawSync(block, { level: LEVEL, finishFlush }));
    this.#compressed += piece.bytes;
    this.#pieces.push(piece);
  }

  /** Section 4.3.7. */
  #header(): Buffer {
    const header = Buffer.alloc(30);
    header.writeUInt32LE(0x04034b50, 0);
    header.writeUInt16LE(VERSION, 4);
    this.#writeFacts(header, 8);
    return header;
  }

  /** Section 4.3.12. */
  #directoryHeader(at: number): Buffer {
    const header = Buffer.alloc(46);
    header.writeUInt32LE(0x02014b50, 0);
    header.writeUInt16LE(VERSION, 4);
    header.writeUInt16LE(VERSION, 6);
    this.#writeFacts(header, 10);
    header.writeUInt32LE(at, 42);
    return header;
  }

  /** What both headers have: method, date, CRC, sizes, length of the name. */
  #writeFacts(header: Buffer, at: number): void {
    header.writeUInt16LE(DEFLATED, at);
    header.writeUInt16LE(DOS_DATE, at + 4);
    header.writeUInt32LE(this.#crc, at + 6);
    header.writeUInt32LE(this.#compressed, at + 10);
    header.writeUInt32LE(this.#bytes, at + 14);
    header.writeUInt16LE(Buffer.byteLength(this.name), at + 18);
  }
}

/** Writes the archive. @throws {OperatorError} where it would have 4 GiB or more. */
export async function writeArchive(entries: readonly ZipEntry[], sink: Sink): Promise<void> {
  const directory: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const written = await entry.writeTo(sink, at);
    directory.push(written.directory);
    at = written.end;
  }
  const headers = Buffer.concat(directory);
  if (at + headers.length > BYTES_MAX) throw tooLarge();
  // Section 4.3.16.
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(headers.length, 12);
  end.writeUInt32LE(at, 16);
  await sink.write(Buffer.concat([headers, end]));
}

function tooLarge(): OperatorError {
  return new OperatorError(
    'The workbook would have 4 GiB or more, which no spreadsheet opens: choose a part with --from and --to, or write Parquet.',
  );
}
