import { isMainThread, type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/**
 * Runs statements that take as long as a database is large in a thread, by a connection of its own.
 * @returns their failure once it has ended; undefined if they succeeded.
 */
export function runInThread(file: string, sql: string): Promise<unknown> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { file, sql } });
  return new Promise((resolve) => {
    worker.once('message', ({ message, code }) => resolve(new Database.SqliteError(message, code)));
    worker.once('error', resolve);
    worker.once('exit', () => resolve(undefined));
  });
}

/** The work of the thread. After a failure the connection stays open until it has ended: closing the last one checkpoints. */
export async function work({ file, sql }: { file: string; sql: string }, port: MessagePort): Promise<void> {
  try {
    const db = new Database(file, { fileMustExist: true, timeout: 0 });
    db.exec(sql);
    db.close();
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    // An error that is posted to another thread loses its code.
    port.postMessage({ message: error.message, code: error.code });
  }
}

if (!isMainThread) await work(workerData, parentPort!);
