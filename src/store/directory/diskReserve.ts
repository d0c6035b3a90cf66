import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Database } from 'better-sqlite3';
import { RESERVE_BYTES } from '../../base/limits.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { failureKind } from '../sqlite/errors.ts';
import type { WalState } from '../wal/checkpointer.ts';

/**
 * A disk that is full of events is freed by a prune, and that needs space first: for its commits in the WAL,
 * and for checkpointing the WAL into the database. So RESERVE_BYTES are allocated in a file, and released for
 * it (../../ARCHITECTURE.md#reserve).
 */

/** What `withReserve` releases at a time: the shared memory file (32 KiB) and a few pages. */
const SLICE_BYTES = 128 * 1024;

const { O_WRONLY, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

const reserveFile = (directory: string) => path.join(directory, 'courtd.reserve');
/**
 * The reserve after its release: at first the whole file under this name, until the daemon has noticed and
 * stores no more events; then an empty file, until the reserve is full again, because an interrupted prune
 * leaves a disk that is still full.
 */
const releasedFile = (directory: string) => path.join(directory, 'courtd.reserve.given-up');

/**
 * @returns the size of the reserve; 0 where there is none. A symbolic link does not count: root must not
 * follow what a member of the group has put there.
 */
export function reservedBytes(directory: string): number {
  const stat = fs.lstatSync(reserveFile(directory), { throwIfNoEntry: false });
  return stat?.isFile() ? stat.size : 0;
}

/** @returns the free space of the file system, for users other than root. */
export function freeBytes(directory: string): number {
  const { bavail, bsize } = fs.statfsSync(directory);
  return bavail * bsize;
}

/** Whether a prune that is running, or was interrupted, has released the reserve. */
export function isReserveReleased(directory: string): boolean {
  return fs.lstatSync(releasedFile(directory), { throwIfNoEntry: false }) !== undefined;
}

/** Restores the reserve that an interrupted prune had released but not used. */
export function reclaimReserve(directory: string): void {
  const stat = fs.lstatSync(releasedFile(directory), { throwIfNoEntry: false });
  if (stat?.isFile() && stat.size > 0 && reservedBytes(directory) === 0) {
    fs.renameSync(releasedFile(directory), reserveFile(directory));
  }
}

/**
 * Allocates the reserve, or what is missing of it.
 * @param leaveBytes how much space must be free after that: a disk too small for it has no reserve. With 0
 * the reserve grows as far as there is space.
 * @returns whether it is complete.
 */
export function fillReserve(directory: string, leaveBytes = RESERVE_BYTES): boolean {
  const file = reserveFile(directory);
  const missing = RESERVE_BYTES - reservedBytes(directory);
  if (missing <= 0) return true;
  const free = freeBytes(directory);
  const bytes = leaveBytes === 0 ? Math.min(missing, free) : missing;
  if (bytes === 0 || free < bytes + leaveBytes) return false;
  try {
    createPrivateIfMissing(file);
    // Opening a pipe that somebody has put there would block.
    const fd = fs.openSync(file, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
    try {
      // Random bytes: zeros take no space where the file system compresses.
      if (fs.writeSync(fd, randomBytes(bytes)) < missing) return false;
    } finally {
      fs.closeSync(fd);
    }
    fs.rmSync(releasedFile(directory), { force: true });
    return true;
  } catch {
    return false;
  }
}

/**
 * Releases all of it.
 * @returns whether there was any.
 */
function releaseAll(directory: string): boolean {
  const hadAny = reservedBytes(directory) > 0;
  fs.rmSync(reserveFile(directory), { force: true });
  return hadAny;
}

/**
 * Releases the reserve for a prune. The daemon stores no event from when it notices until the prune has
 * ended.
 * @param seen resolves once the daemon must have noticed.
 * @returns whether there was any.
 */
export async function releaseReserve(directory: string, seen: () => Promise<void>): Promise<boolean> {
  const hasAny = reservedBytes(directory) > 0;
  if (hasAny) {
    fs.renameSync(reserveFile(directory), releasedFile(directory));
    await seen();
  }
  // Also of a prune that was interrupted.
  const isLeft = fs.existsSync(releasedFile(directory));
  fs.rmSync(releasedFile(directory), { force: true });
  if (hasAny || isLeft) createPrivateIfMissing(releasedFile(directory));
  return hasAny || isLeft;
}

/**
 * Runs what needs only a few pages, and releases a slice of the reserve for it as long as the disk is full.
 * @throws what `work` throws.
 */
export function withReserve<Result>(directory: string, work: () => Result): Result {
  for (;;) {
    try {
      return work();
    } catch (error) {
      const isFull = failureKind(error) === 'full' || (error as NodeJS.ErrnoException).code === 'ENOSPC';
      if (!isFull || !releaseSlice(directory)) throw error;
    }
  }
}

function releaseSlice(directory: string): boolean {
  const bytes = reservedBytes(directory);
  if (bytes <= SLICE_BYTES) return releaseAll(directory);
  const fd = fs.openSync(reserveFile(directory), O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
  fs.ftruncateSync(fd, bytes - SLICE_BYTES);
  fs.closeSync(fd);
  return true;
}

/**
 * Checkpoints the whole WAL and truncates it. Where the database file cannot grow by what is in the WAL, the
 * reserve is released for that moment: truncating the WAL frees more than the file has grown by.
 * @throws {SqliteError} where there is still no space.
 */
export function truncateWal(db: Database, directory: string): WalState {
  const truncate = () => (db.pragma('wal_checkpoint(TRUNCATE)') as [WalState])[0];
  try {
    return truncate();
  } catch (error) {
    if (failureKind(error) !== 'full' || !releaseAll(directory)) throw error;
    try {
      return truncate();
    } finally {
      fillReserve(directory, 0);
    }
  }
}
