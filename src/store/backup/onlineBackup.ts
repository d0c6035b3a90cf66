import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { createPartial, publish, removePartial } from '../../base/atomicFile.ts';
import { cannotWrite, OperatorError } from '../../base/operatorError.ts';
import { openCarefully } from '../../base/privateFile.ts';
import { failureKind } from '../sqlite/errors.ts';
import { workerFile } from '../sqlite/workerThread.ts';
import type { Contents } from './verifyDatabase.ts';

/**
 * How often the copy is synced while it is being written: one sync of the whole copy would hold up the daemon's.
 */
const COPY_SYNC_MS = 100;

/** The report of the worker: the contents of the copy, its fault, or the failure of SQLite. */
export type CopyAnswer =
  | { readonly contents: Contents }
  | { readonly invalid: string }
  | { readonly message: string; readonly code: string };

/** The contents and the size of a copy. */
export interface Copy extends Contents {
  readonly bytes: number;
}

const fdatasync = promisify(fs.fdatasync);

/**
 * Copies a database as of one moment, during writes (VACUUM INTO), verifies the copy, fsyncs it and
 * renames it into place. The copy has no free pages and no WAL; its seqs continue where those of the database
 * were.
 *
 * The WAL of the database cannot be truncated meanwhile. Runs in a worker thread, so that signals are
 * handled; and the copy is synced as it grows, because one sync of gigabytes at the end would hold up the
 * daemon's.
 * @param onProgress called with the bytes written so far.
 * @throws {OperatorError} if the copy cannot be written or is not valid; the partial file has been
 * removed.
 * @throws {SqliteError} if the database cannot be read.
 */
export async function copyDatabase(
  file: string,
  target: string,
  onProgress: (bytes: number) => void = () => {},
): Promise<Copy> {
  const partial = createPartial(target);
  try {
    const answer = await copyInWorker(file, partial, target, onProgress);
    if ('code' in answer) throw explainFailure(new Database.SqliteError(answer.message, answer.code), target);
    if ('invalid' in answer) {
      throw new OperatorError(
        `The copy written to ${target} ${answer.invalid}: it was removed. Check its disk; "courtd check --full" shows whether the database is damaged too.`,
      );
    }
    publish(partial, target);
    return { ...answer.contents, bytes: fs.statSync(target).size };
  } catch (error) {
    removePartial(partial);
    throw error;
  }
}

async function copyInWorker(
  file: string,
  partial: string,
  target: string,
  onProgress: (bytes: number) => void,
): Promise<CopyAnswer> {
  // Closed only after the worker has closed its connection: closing it earlier would drop SQLite's locks.
  const fd = openCarefully(partial, fs.constants.O_RDWR);
  let isDone = false;
  const worker = new Worker(workerFile('backupWorker', import.meta.url), { workerData: [file, partial] });
  const answer = new Promise<CopyAnswer>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the backup worker ended without an answer')));
  }).finally(() => {
    isDone = true;
  });
  try {
    while (!isDone) {
      await Promise.race([answer, sleep(COPY_SYNC_MS)]);
      onProgress(fs.fstatSync(fd).size);
      await fdatasync(fd);
    }
    return await answer;
  } catch (error) {
    await answer.catch(() => {});
    if ((error as NodeJS.ErrnoException).errno === undefined) throw error;
    throw new OperatorError(cannotWrite(target, error as NodeJS.ErrnoException));
  } finally {
    fs.closeSync(fd);
  }
}

/** A failed write can only be one to the copy: nothing else is written. */
function explainFailure(error: InstanceType<typeof Database.SqliteError>, target: string): unknown {
  const place = path.dirname(target);
  if (failureKind(error) === 'full') {
    return new OperatorError(`The disk of ${place} is full: free some space there, or choose another place.`);
  }
  if (!/^SQLITE_IOERR_(WRITE|FSYNC|DIR_FSYNC|TRUNCATE)$/.test(error.code)) return error;
  return new OperatorError(
    `The disk of ${place} failed a write, or does not support files this large (FAT: 4 GiB) (${error.code}): check it, or choose another place.`,
  );
}
