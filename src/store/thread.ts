import path from 'node:path';
import { parentPort, Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** What a thread answers that SQLite has failed. */
interface ThreadFailure {
  readonly message: string;
  readonly code: string;
}

/** @returns where a thread's file is: beside the others here, and with their ending, since the package holds JavaScript. */
export function threadFile(name: string): URL {
  return new URL(`./${name}${path.extname(import.meta.filename)}`, import.meta.url);
}

/** Runs a thread that uses `tellFailure` to its end. @returns its failure; undefined where it has done its work. */
export async function runThread(name: string, workerData: unknown): Promise<unknown> {
  const thread = new Worker(threadFile(name), { workerData });
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
