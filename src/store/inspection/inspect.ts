import { fork } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { workerFile } from '../sqlite/workerThread.ts';
import type { Consistency, OnProgress } from './consistency.ts';

export type { Consistency };

/**
 * - integrity: SQLite's own check of every page, in one read transaction: the number of faults, 100 at most.
 * - consistency: whether events, keys and counters agree.
 */
export interface Inspections {
  readonly integrity: number;
  readonly consistency: Consistency;
}

/** A message of the process: its progress, its result, or why it failed. */
export type InspectMessage =
  | { readonly done: number; readonly of: number }
  | { readonly result: unknown }
  | { readonly failed: string };

interface InspectOptions {
  /** Time after which it is killed. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly told?: OnProgress;
}

/** How much the WAL may grow during a read: well below WAL_WARN_BYTES (limits.ts). */
const LOG_GROWTH_BYTES = 64 * 1024 ** 2;
const LOG_LOOK_MS = 200;

/**
 * Reads a database in a process of its own. SQLite cannot be interrupted in the middle of a call, but a process can be killed, and
 * its locks go with it: where the disk hangs, and where the read keeps the daemon from truncating the WAL.
 * @returns undefined where it was killed for the sake of the daemon.
 * @throws {OperatorError} where the database cannot be opened or read.
 */
export async function inspect<Name extends keyof Inspections>(
  name: Name,
  directory: DataDirectory,
  { timeoutMs, signal, told = () => {} }: InspectOptions = {},
): Promise<Inspections[Name] | undefined> {
  const before = logBytes(directory);
  // As root, if courtd was started by root: the process becomes the owner of the directory for good.
  const child = asCaller(() =>
    fork(fileURLToPath(workerFile('inspectProcess', import.meta.url)), [name, directory.path], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      killSignal: 'SIGKILL',
      ...(signal !== undefined && { signal }),
    }),
  );
  let isInTheWay = false;
  let timer: NodeJS.Timeout | undefined;
  const watch = setInterval(() => {
    if (logBytes(directory) - before < LOG_GROWTH_BYTES) return;
    isInTheWay = true;
    child.kill('SIGKILL');
  }, LOG_LOOK_MS);
  try {
    return await new Promise((resolve, reject) => {
      child.on('message', (answer: InspectMessage) => {
        if ('done' in answer) told(answer.done, answer.of);
        else if ('failed' in answer) reject(new OperatorError(answer.failed));
        else resolve(answer.result as Inspections[Name]);
      });
      child.once('error', reject);
      if (timeoutMs !== undefined) {
        // While the disk hangs, not even a killed process ends: so this does not wait for it.
        timer = setTimeout(
          () => reject(new OperatorError(`${directory.file('database')} ${TOO_SLOW}`)),
          timeoutMs,
        );
      }
      child.once('exit', (status, killedBy) => {
        if (isInTheWay) resolve(undefined);
        else reject(new Error(`the process that reads the database ended with ${killedBy ?? status}`));
      });
    });
  } finally {
    clearInterval(watch);
    clearTimeout(timer);
    child.kill('SIGKILL');
  }
}

const TOO_SLOW =
  'could not be read in time: the disk hangs, or another program holds the database. Look at the log of the kernel ("sudo dmesg").';

function logBytes(directory: DataDirectory): number {
  return fs.statSync(directory.file('wal'), { throwIfNoEntry: false })?.size ?? 0;
}
