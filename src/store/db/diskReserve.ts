import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { RESERVE_BYTES } from '../../base/limits.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { failureKind } from './sqliteErrors.ts';

/** Space for the commits and checkpoints of a prune on a disk that is full of events (../../ARCHITECTURE.md#reserve). */

/** @returns the size of the reserve; 0 if there is none. */
function reservedBytes(directory: DataDirectory): number {
  return fs.statSync(directory.file('reserve'), { throwIfNoEntry: false })?.size ?? 0;
}

/** @returns the free space of the file system, for users other than root. */
export function freeBytes(directory: DataDirectory): number {
  const { bavail, bsize } = fs.statfsSync(directory.path);
  return bavail * bsize;
}

/**
 * Allocates the reserve, if as much again is free; one that was released grows as far as there is space, because a prune that was
 * interrupted leaves a disk that is still full.
 */
export function fillReserve(directory: DataDirectory): void {
  const file = directory.file('reserve');
  try {
    const missing = RESERVE_BYTES - reservedBytes(directory);
    if (missing <= 0) return;
    const free = freeBytes(directory);
    if (!fs.existsSync(file) && free < 2 * RESERVE_BYTES) return;
    createPrivateIfMissing(file);
    // Random bytes: zeros take no space if the file system compresses.
    fs.appendFileSync(file, randomBytes(Math.min(missing, free)));
  } catch {
    // It has grown as far as there is space. If the directory is not accessible, the next write to it will report that.
  }
}

/** Releases the reserve. @returns whether there was any. */
export function releaseReserve(directory: DataDirectory): boolean {
  if (reservedBytes(directory) === 0) return false;
  fs.truncateSync(directory.file('reserve'));
  return true;
}

/**
 * Runs what needs little space, or frees more than it takes. If the disk is full, it has the reserve for that moment.
 * @throws what `work` throws.
 */
export function withReserve<Result>(directory: DataDirectory, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const isFull = failureKind(error) === 'full' || (error as NodeJS.ErrnoException).code === 'ENOSPC';
    if (!isFull || !releaseReserve(directory)) throw error;
  }
  try {
    return work();
  } finally {
    fillReserve(directory);
  }
}
