import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { FILES_CHECK_MS, RESERVE_BYTES } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { failureKind } from '../sqlite/errors.ts';
import type { WalState } from '../wal/checkpointer.ts';

/**
 * A disk that is full of events is freed by a prune, and that needs space first: for its commits in the WAL,
 * and for checkpointing the WAL into the database. So RESERVE_BYTES are allocated in a file, and released for
 * it (../../ARCHITECTURE.md#reserve). A reserve that was released is an empty file, or a short one, until it
 * is whole again; a disk too small for one has no such file.
 */

/** What `withReserve` releases at a time: the shared memory file (32 KiB) and a few pages. */
const SLICE_BYTES = 128 * 1024;

const { O_WRONLY, O_APPEND } = fs.constants;

/**
 * @returns the size of the reserve; undefined if there is none. A symbolic link does not count: root must
 * not follow what a member of the group has put there.
 */
function reserveSize(directory: DataDirectory): number | undefined {
  const stat = fs.lstatSync(directory.file('reserve'), { throwIfNoEntry: false });
  return stat?.isFile() ? stat.size : undefined;
}

/** @returns the size of the reserve; 0 if there is none. */
export function reservedBytes(directory: DataDirectory): number {
  return reserveSize(directory) ?? 0;
}

/** @returns the free space of the file system, for users other than root. */
export function freeBytes(directory: DataDirectory): number {
  const { bavail, bsize } = fs.statfsSync(directory.path);
  return bavail * bsize;
}

/**
 * Allocates the reserve, if as much again is free; one that was released grows as far as there is space,
 * because a prune that was interrupted leaves a disk that is still full.
 * @returns whether it is complete.
 */
export function fillReserve(directory: DataDirectory): boolean {
  const size = reserveSize(directory);
  const missing = RESERVE_BYTES - (size ?? 0);
  if (missing <= 0) return true;
  const free = freeBytes(directory);
  const bytes = size === undefined ? missing : Math.min(missing, free);
  if (bytes === 0 || (size === undefined && free < 2 * RESERVE_BYTES)) return false;
  try {
    createPrivateIfMissing(directory.file('reserve'));
    // Random bytes: zeros take no space if the file system compresses.
    return withReserveFile(directory, O_APPEND, (fd) => fs.writeSync(fd, randomBytes(bytes)) >= missing);
  } catch {
    return false;
  }
}

function withReserveFile<Result>(
  directory: DataDirectory,
  flags: number,
  work: (fd: number) => Result,
): Result {
  const fd = directory.open('reserve', O_WRONLY | flags);
  try {
    return work(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Releases the reserve.
 * @param bytes how much to release.
 * @returns whether there was any.
 */
export function releaseReserve(directory: DataDirectory, bytes = RESERVE_BYTES): boolean {
  const size = reservedBytes(directory);
  if (size === 0) return false;
  withReserveFile(directory, 0, (fd) => fs.ftruncateSync(fd, Math.max(0, size - bytes)));
  return true;
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
      if (isNeeded() || fillReserve(directory) || reserveSize(directory) === undefined) return;
      truncateWal();
      fillReserve(directory);
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
  for (;;) {
    try {
      return work();
    } catch (error) {
      const isFull = failureKind(error) === 'full' || (error as NodeJS.ErrnoException).code === 'ENOSPC';
      if (!isFull || !releaseReserve(directory, SLICE_BYTES)) throw error;
    }
  }
}

/**
 * Checkpoints the whole WAL and truncates it. If the database file cannot grow by the size of the WAL, the
 * reserve is released for that moment: truncating the WAL frees more than the file has grown by.
 * @throws {SqliteError} if there is still no space.
 */
export function truncateWal(db: Database, directory: DataDirectory): WalState {
  const truncate = () => (db.pragma('wal_checkpoint(TRUNCATE)') as [WalState])[0];
  try {
    return truncate();
  } catch (error) {
    if (failureKind(error) !== 'full' || !releaseReserve(directory)) throw error;
    try {
      return truncate();
    } finally {
      fillReserve(directory);
    }
  }
}
