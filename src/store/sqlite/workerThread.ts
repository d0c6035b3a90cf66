import path from 'node:path';
import { parentPort, Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** What a thread answers that SQLite has failed. */
interface ThreadFailure {
  readonly message: string;
  readonly code: string;
}

/**
 * @param name of a file beside the module that asks, without its ending: the package holds JavaScript.
 * @param askedBy that module's `import.meta.url`.
 */
export function workerFile(name: string, askedBy: string): URL {
  return new URL(`./${name}${path.extname(askedBy)}`, askedBy);
}

/** Runs a worker that uses `tellFailure` to its end. @returns its failure; undefined where it has done its work. */
export async function runWorker(file: URL, workerData: unknown): Promise<unknown> {
  const thread = new Worker(file, { workerData });
  return new Promise((resolve) => {
    thread.once('message', ({ message, code }: ThreadFailure) =>
      resolve(new Database.SqliteError(message, code)),
    );
    thread.once('error', resolve);
    thread.once('exit', () => resolve(undefined));
  });
}

/** In the thread: an error that crosses to the other side loses its code. @throws what is not SQLite's. */
export function tellFailure(error: unknown): void {
  if (!(error instanceof Database.SqliteError)) throw error;
  const { message, code } = error;
  parentPort?.postMessage({ message, code } satisfies ThreadFailure);
}
