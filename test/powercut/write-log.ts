import fs from 'node:fs';

/** One write to the disk, or one flush. */
export interface LogEntry {
  /** Of the disk, in bytes. */
  readonly offset: number;
  readonly bytes: number;
  /** Where in the log the data are. */
  readonly at: number;
  /** Everything before it is on the platter. */
  readonly isFlush: boolean;
}

/** What qemu's `blklogwrites` writes with `log-sector-size=512` (Linux, Documentation/admin-guide/device-mapper/log-writes). */
const SECTOR_BYTES = 512;
const HEADER_BYTES = 32;
const FLUSH = 1n;
const DISCARD = 4n;

/**
 * The log of everything that was written to the disk, in order. It can be read while it is written: qemu's FUSE
 * export takes one request after the other, so no entry is before an earlier one.
 */
export class WriteLog {
  readonly entries: LogEntry[] = [];
  readonly #fd: number;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #end = SECTOR_BYTES;

  constructor(file: string) {
    this.#fd = fs.openSync(file, 'r');
  }

  /** @returns how many entries there are by now. */
  length(): number {
    for (;;) {
      fs.readSync(this.#fd, this.#header, 0, HEADER_BYTES, this.#end);
      const sectors = Number(this.#header.readBigUInt64LE(8));
      const flags = this.#header.readBigUInt64LE(16);
      if (sectors === 0 && flags === 0n) return this.entries.length;
      if ((flags & ~FLUSH) !== 0n && flags !== DISCARD) {
        throw new Error(`The write log has an entry with flags ${flags}, which this script does not know.`);
      }
      const isDiscard = flags === DISCARD;
      const bytes = isDiscard ? 0 : sectors * SECTOR_BYTES;
      this.entries.push({
        offset: Number(this.#header.readBigUInt64LE(0)) * SECTOR_BYTES,
        bytes,
        at: this.#end + SECTOR_BYTES,
        isFlush: (flags & FLUSH) !== 0n,
      });
      this.#end += SECTOR_BYTES + bytes;
    }
  }

  /** Copies some of an entry's data to where it belongs on a disk's image. */
  copy(entry: LogEntry, image: number, from = 0, bytes = entry.bytes): void {
    if (bytes === 0) return;
    const data = Buffer.allocUnsafe(bytes);
    fs.readSync(this.#fd, data, 0, bytes, entry.at + from);
    fs.writeSync(image, data, 0, bytes, entry.offset + from);
  }

  close(): void {
    fs.closeSync(this.#fd);
  }
}
