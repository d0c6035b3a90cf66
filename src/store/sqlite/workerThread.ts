import path from 'node:path';
import { parentPort, Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** What a worker answers that SQLite has failed. */
interface WorkerFailure {
  readonly message: string;
  readonly code: string;
}

/**
 * @param name of a file beside the module that asks, without its ending: the package holds JavaScript.
 * @param importMetaUrl that module's `import.meta.url`.
 */
export function workerFile(name: string, importMetaUrl: string): URL {
  return new URL(`./${name}${path.extname(importMetaUrl)}`, importMetaUrl);
}

/** Runs a worker that uses `postFailure` to its end. @returns its failure; undefined where it has done its work. */
export async function runWorker(file: URL, workerData: unknown): Promise<unknown> {
  const worker = new Worker(file, { workerData });
  return new Promise((resolve) => {
    worker.once('message', ({ message, code }: WorkerFailure) =>
      resolve(new Database.SqliteError(message, code)),
    );
    worker.once('error', resolve);
    worker.once('exit', () => resolve(undefined));
  });
}

/** In the worker: an error that crosses to the other side loses its code. @throws what is not SQLite's. */
export function postFailure(error: unknown): void {
  if (!(error instanceof Database.SqliteError)) throw error;
  const { message, code } = error;
  parentPort?.postMessage({ message, code } satisfies WorkerFailure);
}
