import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { createPartial, publish, removePartial } from '../../base/atomicFile.ts';
import { cannotWrite, OperatorError } from '../../base/operatorError.ts';
import { actAsOwner } from '../../base/processIdentity.ts';
import { failureKind } from '../sqlite/errors.ts';
import { workerFile } from '../sqlite/workerThread.ts';
import type { Contents } from './verifyDatabase.ts';

/** How often a copy that is being written is synced: one sync of it all would stop the daemon's. */
const COPY_SYNC_MS = 100;

/** What the worker answers: the contents of the copy, what is invalid with it, or SQLite's explainFailure. */
export type CopyAnswer =
  | { readonly contents: Contents }
  | { readonly invalid: string }
  | { readonly message: string; readonly code: string };

export interface Copy extends Contents {
  readonly bytes: number;
}

const fdatasync = promisify(fs.fdatasync);

/**
 * Copies a database as it is at one moment, beside whoever writes to it (VACUUM INTO), checks the copy, fsyncs it and
 * gives it its name. It has no free pages and no log beside it; numbering goes on in it where it was.
 *
 * Until it is done the log of the database cannot be cut off. In a worker, so that signals are seen; and synced as it
 * grows, because one sync of gigabytes at the end would stop the daemon's.
 * @param onProgress is told how many bytes there are so far.
 * @throws {StoreError} where the copy cannot be written or is invalid. Then nothing is left of it.
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
        `The copy written to ${target} ${answer.invalid}: it was removed. Check the disk.`,
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
  // Closed only when the worker has closed its connection: that would drop SQLite's locks.
  const fd = fs.openSync(partial, fs.constants.O_RDWR | fs.constants.O_NOFOLLOW);
  // Root reads as the owner of the database, and writes as the caller of this does.
  const resumeIdentity = actAsOwner(path.dirname(file));
  let isDone = false;
  const worker = new Worker(workerFile('backupWorker', import.meta.url), { workerData: [file, partial] });
  const answer = new Promise<CopyAnswer>((resolve, reject) => {
    worker.on('message', (message: CopyAnswer | 'opened') => {
      if (message !== 'opened') return resolve(message);
      resumeIdentity();
      worker.postMessage('write');
    });
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the backup worker ended without an answer')));
  }).finally(() => {
    resumeIdentity();
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

/** What cannot be written is the copy: nothing else is. */
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
