import { workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { migrate } from '../layout/schema.ts';
import { postFailure } from '../sqlite/workerThread.ts';

/**
 * The worker thread of upgradeDatabase.ts: applies all migrations in one transaction, which may take minutes.
 */

const db = new Database(workerData as string, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
try {
  db.pragma('synchronous = FULL');
  db.transaction(() => migrate(db)).immediate();
} catch (error) {
  postFailure(error);
} finally {
  db.close();
}
