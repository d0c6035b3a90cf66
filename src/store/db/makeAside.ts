import fs from 'node:fs';
import path from 'node:path';
import { createPartial, partialNameOf, removeLeftovers, removePartial } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import { lockDirectory } from './directoryLock.ts';

/**
 * Makes a database in a data directory under a temporary name, while no daemon uses the directory. However that ends, nothing is left
 * under that name; what a killed process has left is removed first.
 * @param make fills the empty file that it is given, and gives it its name.
 * @throws {OperatorError} if the daemon runs, or the file cannot be created.
 */
export async function makeAside<Result>(
  directory: DataDirectory,
  make: (partial: string) => Promise<Result>,
): Promise<Result> {
  const target = directory.file('database');
  directory.make();
  const lock = lockDirectory(directory);
  const cleanUp = () => {
    removePartial(partialNameOf(target));
    // It would look like one of a database that was there.
    if (!fs.existsSync(target)) fs.rmSync(lock.name, { force: true });
  };
  const cancelCleanup = cleanUpOnExit(cleanUp);
  try {
    removeLeftovers(directory.path, (name) => name === path.basename(target));
    return await make(createPartial(target));
  } finally {
    cancelCleanup();
    cleanUp();
    lock.close();
  }
}
