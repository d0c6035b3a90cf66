import { once } from 'node:events';
import { isMainThread, MessageChannel, type MessagePort, parentPort, Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** What the thread is to do, and where it says how that ended. */
interface Job {
  readonly file: string;
  readonly sql: string;
  readonly answer: MessagePort;
}

/** Once it is needed it always runs: to start one takes 50 ms of a processor. */
let thread: Worker | undefined;

/**
 * Runs statements that take long in a thread, by a connection of their own. The caller has the file open, too: closing the last
 * connection would checkpoint, whatever has failed.
 * @returns their failure after that connection has been closed; undefined if they succeeded.
 */
export async function runInThread(file: string, sql: string): Promise<unknown> {
  thread ??= new Worker(new URL(import.meta.url));
  // Only while it works does it keep the process alive, by the port.
  thread.unref();
  const { port1, port2 } = new MessageChannel();
  thread.postMessage({ file, sql, answer: port2 } satisfies Job, [port2]);
  const [failure] = await once(port1, 'message');
  port1.close();
  if (failure === undefined) return undefined;
  const { message, code } = failure;
  return code === undefined ? new Error(message) : new Database.SqliteError(message, code);
}

/** The work of the thread. An error that is posted to another thread loses its code. */
export function work({ file, sql, answer }: Job): void {
  let db: Database.Database | undefined;
  let failure: { message: string; code: string | undefined } | undefined;
  try {
    db = new Database(file, { fileMustExist: true, timeout: 0 });
    db.exec(sql);
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    failure = { message, code };
  }
  db?.close();
  answer.postMessage(failure);
}

if (!isMainThread) parentPort!.on('message', work);
