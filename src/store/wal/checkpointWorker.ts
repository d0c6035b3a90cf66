import { workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { postFailure } from '../sqlite/workerThread.ts';
import type { CheckpointOrder } from './checkpointer.ts';

/**
 * The worker thread of checkpointer.ts: one passive checkpoint of the database whose path it is given.
 * Writers do not wait for it. Not where a sync has failed since it was started: who opens the WAL after that does not hear of it, and
 * the sync of this checkpoint would succeed.
 */

try {
  const { file, isStopped } = workerData as CheckpointOrder;
  const db = new Database(file, { fileMustExist: true, timeout: 0 });
  db.pragma('synchronous = FULL');
  // Opens the WAL.
  db.pragma('wal_checkpoint(NOOP)');
  if (Atomics.load(isStopped, 0) === 0) db.pragma('wal_checkpoint(PASSIVE)');
  db.close();
} catch (error) {
  postFailure(error);
}
