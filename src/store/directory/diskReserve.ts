import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Database } from 'better-sqlite3';
import { RESERVE_BYTES } from '../../base/limits.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { failureKind } from '../sqlite/errors.ts';
import type { WalState } from '../wal/checkpointer.ts';

/**
 * A disk that is full of events is emptied by a prune, and that needs room first: for its commits in the log, and for the
 * log in the file. So a few megabytes are kept in a file, and given up for it.
 */

/** What `withReserve` releases at a time: the shared memory file (32 KiB) and a few pages. */
const SLICE_BYTES = 128 * 1024;

const { O_WRONLY, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

const reserveFile = (directory: string) => path.join(directory, 'courtd.reserve');
/**
 * Given up: all of it, until the daemon has seen that and takes nothing of what comes free; then an empty file, until the reserve is
 * whole again, because a prune that was cut short leaves a disk that is still full.
 */
const releasedFile = (directory: string) => path.join(directory, 'courtd.reserve.given-up');

/** @returns bytes; 0 where there is none. A link is none: root must not follow what a member of the group has put there. */
export function reservedBytes(directory: string): number {
  const stat = fs.lstatSync(reserveFile(directory), { throwIfNoEntry: false });
  return stat?.isFile() ? stat.size : 0;
}

export function freeBytes(directory: string): number {
  const { bavail, bsize } = fs.statfsSync(directory);
  return bavail * bsize;
}

/** Whether a prune has given it up that did not come to its end, or works still. */
export function isReserveReleased(directory: string): boolean {
  return fs.lstatSync(releasedFile(directory), { throwIfNoEntry: false }) !== undefined;
}

/** Takes back what a prune had given up that was cut short before it used any of it. */
export function reclaimReserve(directory: string): void {
  const stat = fs.lstatSync(releasedFile(directory), { throwIfNoEntry: false });
  if (stat?.isFile() && stat.size > 0 && reservedBytes(directory) === 0) {
    fs.renameSync(releasedFile(directory), reserveFile(directory));
  }
}

/**
 * Makes the reserve, or what is missing of it, where as much is left beside it: a disk too small for that does without. If nothing
 * need be left, it becomes as large as there is room.
 * @returns whether it is whole.
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
    // A pipe that somebody has put there would be waited for.
    const fd = fs.openSync(file, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
    try {
      // Zeros would take no room where the file system compresses.
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

/** Gives up all of it. @returns whether there was any. */
function releaseAll(directory: string): boolean {
  const hadAny = reservedBytes(directory) > 0;
  fs.rmSync(reserveFile(directory), { force: true });
  return hadAny;
}

/** For a prune. The daemon takes no event from when it has seen that until the prune has ended. @returns whether there was any. */
export async function releaseReserve(directory: string, seen: () => Promise<void>): Promise<boolean> {
  const hasAny = reservedBytes(directory) > 0;
  if (hasAny) {
    fs.renameSync(reserveFile(directory), releasedFile(directory));
    await seen();
  }
  // Also that of a prune which was cut short.
  const isLeft = fs.existsSync(releasedFile(directory));
  fs.rmSync(releasedFile(directory), { force: true });
  if (hasAny || isLeft) createPrivateIfMissing(releasedFile(directory));
  return hasAny || isLeft;
}

/** Does what needs only a few pages, and gives up a part of the reserve for it where the disk is full. */
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
 * Brings all of the log into the file and cuts it off. Where the file cannot grow by what is in the log the reserve is given up
 * for that moment: the log that is cut off then is larger than what the file has grown by.
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
