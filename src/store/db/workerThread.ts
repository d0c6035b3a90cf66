import path from 'node:path';
import { type MessagePort, Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** How a worker reports a failure of SQLite. */
interface WorkerFailure {
  readonly message: string;
  readonly code: string;
}

/**
 * @param name of a file beside the calling module, without its extension: .ts in the repository, .js in the
 * package.
 * @param importMetaUrl the `import.meta.url` of that module.
 */
export function workerFile(name: string, importMetaUrl: string): URL {
  return new URL(`./${name}${path.extname(importMetaUrl)}`, importMetaUrl);
}

/** What a worker posts once it is ready, and waits for an answer. */
export const READY = 'ready';

/**
 * Runs a worker that reports with `postFailure`.
 * @param mayGoOn what a worker that is READY is answered.
 * @returns its failure once it has ended; undefined if it succeeded.
 */
export async function runWorker(file: URL, workerData: unknown, mayGoOn = () => true): Promise<unknown> {
  const worker = new Worker(file, { workerData });
  return new Promise((resolve) => {
    worker.on('message', (said: WorkerFailure | typeof READY) => {
      if (said === READY) worker.postMessage(mayGoOn());
      else resolve(new Database.SqliteError(said.message, said.code));
    });
    worker.once('error', resolve);
    worker.once('exit', () => resolve(undefined));
  });
}

/**
 * For workers: an error that is posted to another thread loses its code, so the code is sent separately.
 * @throws errors that are not SQLite's; the 'error' event of the worker carries those.
 */
export function postFailure(error: unknown, port: MessagePort): void {
  if (!(error instanceof Database.SqliteError)) throw error;
  const { message, code } = error;
  port.postMessage({ message, code } satisfies WorkerFailure);
}
