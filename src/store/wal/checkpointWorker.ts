import { workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { postFailure } from '../sqlite/workerThread.ts';

/**
 * The worker thread of checkpointer.ts: one passive checkpoint of the database whose path it is given.
 * Writers do not wait for it.
 */

try {
  const db = new Database(workerData as string, { fileMustExist: true, timeout: 0 });
  db.pragma('synchronous = FULL');
  db.pragma('wal_checkpoint(PASSIVE)');
  db.close();
} catch (error) {
  postFailure(error);
}
