import { isMainThread, type MessagePort, parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { overwriteDeleted } from '../db/secureDelete.ts';
import { postFailure } from '../db/workerThread.ts';

/** The worker thread of onlineBackup.ts: copies a database, which takes as long as it is large. */
export async function work([file, copy]: readonly [string, string], port: MessagePort): Promise<void> {
  try {
    const db = new Database(file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
    try {
      overwriteDeleted(db);
      db.prepare('VACUUM INTO ?').run(copy);
    } finally {
      db.close();
    }
  } catch (error) {
    postFailure(error, port);
  }
}

if (!isMainThread) await work(workerData, parentPort!);
