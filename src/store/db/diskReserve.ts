import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { FILES_CHECK_MS, RESERVE_BYTES } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { checkpoint } from './checkpointer.ts';
import { failureKind } from './sqliteErrors.ts';

/**
 * A disk that is full of events is freed by a prune, and that needs space first: for its commits in the WAL,
 * and for checkpointing the WAL into the database. So RESERVE_BYTES are allocated in a file, and released for
 * it (../../ARCHITECTURE.md#reserve).
 */

/** What `withReserve` releases at a time: the shared memory file (32 KiB) and a few pages. */
const SLICE_BYTES = 128 * 1024;

/** @returns the size of the reserve; 0 if there is none. */
export function reservedBytes(directory: DataDirectory): number {
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
 * @returns whether it is complete.
 */
export function fillReserve(directory: DataDirectory): boolean {
  const file = directory.file('reserve');
  const missing = RESERVE_BYTES - reservedBytes(directory);
  const free = freeBytes(directory);
  if (missing <= 0) return true;
  if (!fs.existsSync(file) && free < 2 * RESERVE_BYTES) return false;
  try {
    createPrivateIfMissing(file);
    // Random bytes: zeros take no space if the file system compresses.
    fs.appendFileSync(file, randomBytes(Math.min(missing, free)));
  } catch {
    // It has grown as far as there is space.
  }
  return reservedBytes(directory) >= RESERVE_BYTES;
}

/** Releases the reserve. @param bytes how much of it. @returns whether there was any. */
export function releaseReserve(directory: DataDirectory, bytes = RESERVE_BYTES): boolean {
  const size = reservedBytes(directory);
  if (size > 0) fs.truncateSync(directory.file('reserve'), Math.max(0, size - bytes));
  return size > 0;
}

/**
 * Keeps the reserve whole, from now on.
 * @param isNeeded whether a prune is using what was released.
 * @param truncateWal is called if the WAL may have taken the space: a reader may have kept it that long.
 * @returns a function that stops it.
 */
export function keepReserve(
  directory: DataDirectory,
  isNeeded: () => boolean,
  truncateWal: () => void,
): () => void {
  const check = () => {
    try {
      if (!isNeeded() && !fillReserve(directory)) truncateWal();
    } catch {
      // The directory is not accessible: the next write to it will report that.
    }
  };
  check();
  return every(FILES_CHECK_MS, check);
}

/**
 * Runs what needs only a few pages, and releases a slice of the reserve for it as long as the disk is full.
 * @throws what `work` throws.
 */
export function withReserve<Result>(directory: DataDirectory, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const isFull = failureKind(error) === 'full' || (error as NodeJS.ErrnoException).code === 'ENOSPC';
    if (!isFull || !releaseReserve(directory, SLICE_BYTES)) throw error;
    return withReserve(directory, work);
  }
}

/**
 * Checkpoints the whole WAL and truncates it. If the database file cannot grow by the size of the WAL, the
 * reserve is released for that moment: truncating the WAL frees more than the file has grown by.
 * @throws {SqliteError} if there is still no space.
 */
export function truncateWal(db: Database, directory: DataDirectory): void {
  const hasReserve = reservedBytes(directory) > 0;
  try {
    withReserve(directory, () => checkpoint(db, 'TRUNCATE'));
  } finally {
    if (hasReserve) fillReserve(directory);
  }
}
