import { constants, crc32, deflateRawSync } from 'node:zlib';

/**
 * A ZIP archive (PKWARE APPNOTE 6.3) whose entries grow side by side, each compressed in memory as it is written: an event goes to
 * one of several sheets. The ZIP libraries write one entry after the other. Without ZIP64: an archive has less than 4 GiB.
 */

/** Text is compressed in blocks of this many characters: the larger, the better, and more memory an entry. */
const BLOCK_CHARS = 256 * 1024;
/** Level 6 makes the file a sixth smaller, and the export of a million events a quarter slower. */
const LEVEL = 3;
/** A full entry may take as much memory, if it cannot be compressed: a sheet of a million rows has half of it, and takes 64 MiB. */
const BYTES_MAX = 512 * 1024 ** 2;
/** Version 2.0: deflate. */
const VERSION = 20;
const DEFLATED = 8;
/** 1980-01-01, the earliest time that ZIP knows: an entry's time is of no use, and so the same events give the same bytes. */
const DOS_DATE = 0x21;

/** A file in the archive. */
export class ZipEntry {
  readonly #name: Buffer;
  readonly #pieces: Uint8Array[] = [];
  #texts: string[] = [];
  #chars = 0;
  #crc = 0;
  #bytes = 0;

  constructor(name: string) {
    this.#name = Buffer.from(name);
  }

  get isFull(): boolean {
    return this.#bytes >= BYTES_MAX;
  }

  write(text: string): void {
    this.#texts.push(text);
    this.#chars += text.length;
    if (this.#chars >= BLOCK_CHARS) this.#compress(constants.Z_SYNC_FLUSH);
  }

  /**
   * Completes it.
   * @param at its position in the archive.
   * @returns header and content (section 4.3.7), and its entry in the directory (4.3.12), as pieces.
   */
  end(at: number): { readonly file: readonly Uint8Array[]; readonly directory: readonly Uint8Array[] } {
    this.#compress(constants.Z_FINISH);
    const name = this.#name;
    const sizes = [lengthOf(this.#pieces), this.#bytes].map(uint32);
    // Version, no flags, method, date, CRC, sizes, length of the name, no extra field.
    const method = [VERSION, 0, DEFLATED, 0, DOS_DATE].map(uint16);
    const facts = [...method, uint32(this.#crc), ...sizes, uint16(name.length), uint16(0)];
    // Behind the facts: no comment, disk 0, no attributes.
    const directory = [uint32(0x02014b50), uint16(VERSION), ...facts, Buffer.alloc(10), uint32(at), name];
    return { file: [uint32(0x04034b50), ...facts, name, ...this.#pieces], directory };
  }

  /** Blocks that end in a sync flush may follow one another: together they are one deflate stream (RFC 1951). */
  #compress(finishFlush: number): void {
    const block = Buffer.from(this.#texts.join(''));
    [this.#texts, this.#chars] = [[], 0];
    this.#crc = crc32(block, this.#crc);
    this.#bytes += block.length;
    this.#pieces.push(deflateRawSync(block, { level: LEVEL, finishFlush }));
  }
}

/** @yields the archive, of entries of which none is full. */
export function* zipArchive(entries: readonly ZipEntry[]): Generator<Uint8Array> {
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const entry of entries) {
    const ended = entry.end(at);
    directory.push(...ended.directory);
    at += lengthOf(ended.file);
    yield* ended.file;
  }
  // Section 4.3.16: no other disk, how many entries, the directory, no comment.
  const count = uint16(entries.length);
  const sizes = [lengthOf(directory), at].map(uint32);
  yield Buffer.concat([...directory, uint32(0x06054b50), uint32(0), count, count, ...sizes, uint16(0)]);
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

const uint16 = (value: number) => Buffer.from(Uint16Array.of(value).buffer);
const uint32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
