import type { DataDirectory } from '../base/dataDirectory.ts';
import { DirectoryInUse } from './directory/directoryLock.ts';
import { explain } from './open/openErrors.ts';
import { Store, type StoreEvents, UNLOGGED } from './store.ts';

/**
 * Opens the store as the daemon does, behind its lock, for a command that writes while no daemon runs.
 * @param failed is told why, in a sentence, where the disk fails later: see unattended.
 * @returns undefined where a daemon, or another such command, has it.
 * @throws {OperatorError} where it cannot be opened.
 */
export async function openStoppedStore(
  directory: DataDirectory,
  failed: (why: string) => void,
): Promise<Store | undefined> {
  try {
    return await Store.openExisting(directory, unattended(directory, failed));
  } catch (error) {
    if (error instanceof DirectoryInUse) return undefined;
    throw error;
  }
}

/**
 * Once the disk has failed the process ends, and the database is not closed, because what it would still write cannot be trusted
 * (ARCHITECTURE.md#a-failed-fsync-is-final).
 */
export function unattended(directory: DataDirectory, failed: (why: string) => void): StoreEvents {
  const fatal = (error: unknown) => {
    const reason = explain(error, directory);
    failed(reason instanceof Error ? reason.message : String(reason));
    process.exit(1);
  };
  return { ...UNLOGGED, fatal };
}
