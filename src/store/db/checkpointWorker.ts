import { once } from 'node:events';
import { isMainThread, type MessagePort, parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { postFailure, READY } from './workerThread.ts';

/**
 * The worker thread of checkpointer.ts: one passive checkpoint of the database whose path it is given.
 * Writers do not wait for it. Not if a sync has failed before it had the WAL open: it would not see that, and the sync of this
 * checkpoint would succeed. A failure after that fails its own sync, too.
 */
export async function work(file: string, port: MessagePort): Promise<void> {
  try {
    const db = new Database(file, { fileMustExist: true, timeout: 0 });
    db.pragma('synchronous = FULL');
    // Opens the WAL.
    db.pragma('wal_checkpoint(NOOP)');
    port.postMessage(READY);
    const [mayGoOn] = await once(port, 'message');
    if (mayGoOn) db.pragma('wal_checkpoint(PASSIVE)');
    db.close();
  } catch (error) {
    postFailure(error, port);
  }
}

if (!isMainThread) await work(workerData, parentPort!);
