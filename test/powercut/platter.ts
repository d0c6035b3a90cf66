import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import type { Random } from '../../src/vendor/simulate/random.ts';
import type { LogEntry, WriteLog } from './write-log.ts';

/**
 * The fate of writes that no flush has followed: they landed whole, not at all, or as a random subset of
 * their sectors: of 4 KiB, as disks have them now, or of 512 bytes, as they had them.
 */
export const IN_FLIGHT = ['whole', 'none', 'torn', 'shredded'] as const;
export type InFlight = (typeof IN_FLIGHT)[number];

/**
 * ext4 writes its superblock in place when it is mounted, and does not survive half of it: on a disk with sectors of
 * 512 bytes that would be up to e2fsck and no matter of ours. It stays whole.
 */
const SUPERBLOCK_END = 4096;
const SECTOR_BYTES: Readonly<Record<'torn' | 'shredded', number>> = { torn: 4096, shredded: 512 };

/** A disk whose power is cut at one write of the log after the other. */
export class Platter {
  readonly #image: string;
  readonly #log: WriteLog;
  /** Entries that are on it for certain: all up to a flush. */
  #flushed = 0;

  /** @param image of the disk before the first entry of the log; it is written to. */
  constructor(image: string, log: WriteLog) {
    this.#image = image;
    this.#log = log;
  }

  /**
   * Makes the image of the disk as it may be when the power fails after `cut` entries.
   * @param cut never less than in the call before.
   * @returns how many writes were in flight.
   */
  cut(cut: number, inFlight: InFlight, random: Random, image: string): number {
    const { entries } = this.#log;
    const flushes = entries.findLastIndex((entry, i) => i < cut && entry.isFlush) + 1;
    this.#write(this.#image, (disk) => {
      for (const entry of entries.slice(this.#flushed, flushes)) this.#log.copy(entry, disk);
    });
    this.#flushed = Math.max(this.#flushed, flushes);
    // A new file: the one before may still be mounted, where courtd has left it open.
    fs.rmSync(image, { force: true });
    execFileSync('cp', ['--sparse=auto', this.#image, image]);
    const flying = entries.slice(this.#flushed, cut);
    this.#write(image, (disk) => {
      for (const entry of flying) this.#land(entry, inFlight, random, disk);
    });
    return flying.length;
  }

  #land(entry: LogEntry, inFlight: InFlight, random: Random, disk: number): void {
    if (inFlight === 'none') return;
    if (inFlight === 'whole') return this.#log.copy(entry, disk);
    for (let from = 0; from < entry.bytes; ) {
      const size = entry.offset + from < SUPERBLOCK_END ? SUPERBLOCK_END : SECTOR_BYTES[inFlight];
      const bytes = Math.min(entry.bytes - from, size - ((entry.offset + from) % size));
      if (random.chance(0.5)) this.#log.copy(entry, disk, from, bytes);
      from += bytes;
    }
  }

  #write(image: string, work: (disk: number) => void): void {
    const disk = fs.openSync(image, 'r+');
    work(disk);
    fs.closeSync(disk);
  }
}
