import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { createPartial, publish, removePartial } from '../../base/atomicFile.ts';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { cannotWrite, OperatorError } from '../../base/operatorError.ts';
import { openCarefully } from '../../base/privateFile.ts';
import { OVERWRITE_DELETED } from '../db/secureDelete.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { runInThread } from '../db/statementThread.ts';
import { type Contents, verifyDatabase } from './verifyDatabase.ts';

/** How often the copy is synced while it is being written: one sync of the whole copy would hold up the daemon's. */
const COPY_SYNC_MS = 100;

/** The contents and the size of a copy. */
export interface Copy extends Contents {
  readonly bytes: number;
}

const fdatasync = promisify(fs.fdatasync);

/**
 * Copies a database as of one moment, beside any writer (VACUUM INTO), verifies the copy, fsyncs it and renames it into place. The
 * copy has no free pages and no WAL; its seqs continue where those of the database were. The WAL of the database cannot be truncated
 * meanwhile.
 * @param onProgress called with the bytes written so far.
 * @throws {OperatorError} if the copy cannot be written or is not valid; the partial file has been removed.
 * @throws {SqliteError} if the database cannot be read.
 */
export async function copyDatabase(
  file: string,
  target: string,
  onProgress: (bytes: number) => void,
): Promise<Copy> {
  const partial = createPartial(target);
  try {
    await writeCopy(file, partial, onProgress);
    const contents = verified(partial, target);
    publish(partial, target);
    return { ...contents, bytes: fs.statSync(target).size };
  } catch (error) {
    removePartial(partial);
    throw explained(error, target);
  }
}

/** In a thread, so that signals are handled, and synced as it grows. */
async function writeCopy(file: string, partial: string, onProgress: (bytes: number) => void): Promise<void> {
  // Closed only after the thread has closed its connection: closing it earlier would drop SQLite's locks.
  const fd = openCarefully(partial, fs.constants.O_RDWR);
  let [isDone, failure]: [boolean, unknown] = [false, undefined];
  const ended = runInThread({
    file,
    busyMs: COMMAND_BUSY_MS,
    pragmas: [OVERWRITE_DELETED],
    sql: `VACUUM INTO '${partial.replaceAll("'", "''")}'`,
  }).then((error) => {
    [isDone, failure] = [true, error];
  });
  try {
    for (; !isDone; await fdatasync(fd)) {
      await Promise.race([ended, sleep(COPY_SYNC_MS)]);
      onProgress(fs.fstatSync(fd).size);
    }
  } finally {
    await ended;
    fs.closeSync(fd);
  }
  if (failure !== undefined) throw failure;
}

function verified(copy: string, target: string): Contents {
  try {
    return verifyDatabase(copy);
  } catch (error) {
    throw new OperatorError(
      `The copy written to ${target} ${(error as Error).message}: it was removed. Check its disk; "courtd check --full" says whether the database is damaged too.`,
    );
  }
}

/** A failed write can only be one to the copy: nothing else is written. */
function explained(error: unknown, target: string): unknown {
  if (error instanceof OperatorError) return error;
  if (!(error instanceof Database.SqliteError))
    return new OperatorError(cannotWrite(target, error as NodeJS.ErrnoException));
  const place = path.dirname(target);
  if (failureKind(error) === 'full') {
    return new OperatorError(`The disk of ${place} is full: free some space there, or choose another place.`);
  }
  if (!/^SQLITE_IOERR_(WRITE|FSYNC|DIR_FSYNC|TRUNCATE)$/.test(error.code)) return error;
  return new OperatorError(
    `The disk of ${place} failed a write, or does not support files this large (FAT: 4 GiB) (${error.code}): check it, or choose another place.`,
  );
}
