import { once } from 'node:events';
import { isMainThread, type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** A statement that takes as long as the database is large. */
interface LongStatement {
  readonly file: string;
  /** What the connection runs first. */
  readonly pragmas: readonly string[];
  readonly sql: string;
}

/** An error that is posted to another thread loses its code, so the code is sent separately. */
interface Failure {
  readonly message: string;
  readonly code: string;
}

/** What the thread posts once it has the database open; then it waits for an answer. */
const READY = 'ready';

/**
 * Runs a statement in a thread, by a connection of its own.
 * @param mayGoOn is asked once that connection has the database open.
 * @returns its failure once it has ended; undefined if it succeeded.
 */
export function runInThread(statement: LongStatement, mayGoOn = () => true): Promise<unknown> {
  const worker = new Worker(new URL(import.meta.url), { workerData: statement });
  return new Promise((resolve) => {
    worker.on('message', (said: Failure | typeof READY) => {
      if (said === READY) worker.postMessage(mayGoOn());
      else resolve(new Database.SqliteError(said.message, said.code));
    });
    worker.once('error', resolve);
    worker.once('exit', () => resolve(undefined));
  });
}

/** The work of the thread. After a failure the connection stays open until it has ended: closing the last one checkpoints. */
export async function work(statement: LongStatement, port: MessagePort): Promise<void> {
  const { file, pragmas, sql } = statement;
  try {
    const db = new Database(file, { fileMustExist: true, timeout: 0 });
    for (const pragma of pragmas) db.pragma(pragma);
    port.postMessage(READY);
    const [mayGoOn] = await once(port, 'message');
    if (mayGoOn) db.exec(sql);
    db.close();
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    const { message, code } = error;
    port.postMessage({ message, code } satisfies Failure);
  }
}

if (!isMainThread) await work(workerData, parentPort!);
