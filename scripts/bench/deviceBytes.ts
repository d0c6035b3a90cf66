import fs from 'node:fs';
import { Child } from './child.ts';

const SECTOR_BYTES = 512;

/**
 * The counter of the kernel's block device (Linux, Documentation/block/stat.rst, field 7), after a sync. What `/proc/PID/io` counts is
 * pages that a process has made dirty, by the folio: up to 2 MiB for one block of 4 KiB.
 * @returns the bytes that have been written to the device of a directory; NaN where it is on none of its own, such as a tmpfs.
 */
export async function deviceBytes(directory: string): Promise<number> {
  await new Child('sync', []).output();
  const { dev } = fs.statSync(directory);
  // Linux, include/linux/kdev_t.h, new_encode_dev.
  const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  const file = `/sys/dev/block/${major}:${minor}/stat`;
  if (!fs.existsSync(file)) return Number.NaN;
  return Number(fs.readFileSync(file, 'utf8').trim().split(/\s+/)[6]) * SECTOR_BYTES;
}
