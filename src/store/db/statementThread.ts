import { isMainThread, type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** A statement that takes as long as the database is large. */
interface LongStatement {
  readonly file: string;
  /** What the connection runs first. */
  readonly pragmas: readonly string[];
  readonly sql: string;
}

/**
 * Runs a statement in a thread, by a connection of its own.
 * @returns its failure once it has ended; undefined if it succeeded.
 */
export function runInThread(statement: LongStatement): Promise<unknown> {
  const worker = new Worker(new URL(import.meta.url), { workerData: statement });
  return new Promise((resolve) => {
    worker.once('message', ({ message, code }) => resolve(new Database.SqliteError(message, code)));
    worker.once('error', resolve);
    worker.once('exit', () => resolve(undefined));
  });
}

/** The work of the thread. After a failure the connection stays open until it has ended: closing the last one checkpoints. */
export async function work({ file, pragmas, sql }: LongStatement, port: MessagePort): Promise<void> {
  try {
    const db = new Database(file, { fileMustExist: true, timeout: 0 });
    for (const pragma of pragmas) db.pragma(pragma);
    db.exec(sql);
    db.close();
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    // An error that is posted to another thread loses its code.
    port.postMessage({ message: error.message, code: error.code });
  }
}

if (!isMainThread) await work(workerData, parentPort!);
