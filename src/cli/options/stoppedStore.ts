import { DirectoryInUse } from '../../store/directory/directoryLock.ts';
import { explain } from '../../store/open/openErrors.ts';
import { Store, UNLOGGED } from '../../store/store.ts';
import { say } from '../terminal/output.ts';

/**
 * Opens the store as the daemon does, behind its lock, for a command that writes while no daemon runs.
 * @param advice what to do once a disk that has failed is mended, as a sentence.
 * @returns undefined where a daemon, or another such command, has it.
 * @throws {OperatorError} where it cannot be opened.
 */
export async function openStoppedStore(directory: string, advice: string): Promise<Store | undefined> {
  // The database is not closed: what it would still write cannot be trusted (ARCHITECTURE.md#a-failed-fsync-is-final).
  const fatal = (error: unknown) => {
    const reason = explain(error, directory);
    say(`courtd: ${reason instanceof Error ? reason.message : reason} ${advice}`);
    process.exit(1);
  };
  try {
    return await Store.open(directory, { ...UNLOGGED, fatal }, { exists: true });
  } catch (error) {
    if (error instanceof DirectoryInUse) return undefined;
    throw error;
  }
}
