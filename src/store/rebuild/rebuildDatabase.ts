import { setImmediate } from 'node:timers/promises';
import { publish } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { asOwner } from '../../base/processIdentity.ts';
import { enterDirectory } from '../directory/enterDirectory.ts';
import { makeAside } from '../directory/makeAside.ts';
import { filesBesideDatabase, forgetNewDatabase, lacksDatabase } from '../directory/newDatabase.ts';
import { explain } from '../open/openErrors.ts';
import { RebuiltDatabase } from './rebuiltDatabase.ts';

/**
 * Makes a database in a directory that has none. It has its name only when it is complete and synced: a rebuild that ends before
 * leaves nothing that looks like a box.
 * @param fill adds the events and finishes it.
 * @returns what `fill` does.
 * @throws {OperatorError} where there is a database, or what was left of one.
 */
export async function rebuildDatabase<Result>(
  directory: DataDirectory,
  fill: (database: RebuiltDatabase) => Promise<Result>,
): Promise<Result> {
  const target = directory.file('database');
  const asItsOwner = <Made>(work: () => Made) => asOwner(directory.path, work);
  try {
    asItsOwner(() => {
      enterDirectory(directory);
      refuseExisting(directory);
    });
    return await makeAside(directory, async (partial) => {
      const database = asItsOwner(() => new RebuiltDatabase(partial));
      let result: Result;
      try {
        result = await fill(database);
      } finally {
        database.close();
      }
      // A signal that has arrived meanwhile is handled now; after this, not before the end.
      await setImmediate();
      asItsOwner(() => {
        refuseExisting(directory);
        publish(partial, target);
        forgetNewDatabase(directory);
      });
      return result;
    });
  } catch (error) {
    throw explain(error, directory);
  }
}

/** @throws {OperatorError} A write-ahead log that was left of another database would be applied to the new one. */
function refuseExisting(directory: DataDirectory): void {
  // A rebuild that was killed leaves the lock.
  const left = filesBesideDatabase(directory).filter((name) => directory.at(name) !== directory.file('lock'));
  if (!lacksDatabase(directory)) left.unshift('the database');
  if (left.length === 0) return;
  throw new OperatorError(
    `${directory} is not empty (${left.join(', ')}), and a rebuild makes a new database only: nothing was changed. Name another ` +
      'directory with --data; or stop the daemon, and move what is in this one to another place first.',
  );
}
