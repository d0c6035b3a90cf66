import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { workerFile } from '../sqlite/workerThread.ts';

/**
 * What is left of an erased player in the bytes of the database. SQLite overwrites what it deletes (`secure_delete`), but where it
 * moves rows from one page to another, copies of them stay in the free space of a page (btree.c, rebuildPage) until something else
 * is written there.
 */
export interface Remains {
  /** Pages whose free space has something left. */
  readonly pages: readonly RemainingPage[];
  /** Names of other files of the data directory that have. */
  readonly files: readonly string[];
}

export interface RemainingPage {
  readonly page: number;
  /** The rowids of its first and last row, and how many there are; none where it is no page with rows of a table. */
  readonly first: number;
  readonly last: number;
  readonly rows: number;
  /** Bytes of free space, without fragments. */
  readonly free: number;
}

export interface RemainsRequest {
  readonly directory: string;
  readonly needles: readonly string[];
}

/**
 * Reads the files of a data directory, in a process of its own: closing a descriptor of the database would drop the locks of this
 * one. Call it when the WAL is empty.
 * @throws where that process fails.
 */
export async function findRemains(
  directory: DataDirectory,
  needles: Iterable<string>,
  signal?: AbortSignal,
): Promise<Remains> {
  const child = asCaller(() => {
    const started = fork(fileURLToPath(workerFile('remainsProcess', import.meta.url)), [], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      ...(signal !== undefined && { signal }),
    });
    if (started.pid !== undefined) yieldToIngest(started.pid);
    return started;
  });
  try {
    const ended = new AbortController();
    child.once('error', (error) => ended.abort(error));
    child.once('exit', (status) =>
      ended.abort(new Error(`the process that reads the files ended with ${status}`)),
    );
    child.send({ directory: directory.path, needles: [...needles] } satisfies RemainsRequest);
    const [remains] = (await once(child, 'message', { signal: ended.signal }).catch(() => {
      throw ended.signal.reason;
    })) as [Remains];
    return remains;
  } finally {
    child.kill('SIGKILL');
  }
}
