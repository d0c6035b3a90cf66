import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { explain } from '../db/openErrors.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { RefusedFile } from './refusedFile.ts';

/**
 * Runs `work` on the rejected requests of a data directory, for a command that reads.
 * @returns undefined if no request was ever rejected. @throws {OperatorError} if the file cannot be used.
 */
export async function withRefused<Result>(
  directory: DataDirectory,
  work: (file: RefusedFile) => Result | Promise<Result>,
): Promise<Result | undefined> {
  const path = directory.file('refused');
  // An empty one is the daemon's to set aside: SQLite would take it for a new one.
  if ((fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined;
  let file: RefusedFile | undefined;
  try {
    file = new RefusedFile(path, 'read');
    return await work(file);
  } catch (error) {
    if (failureKind(error) !== 'damaged') throw explain(error, directory);
    throw new OperatorError(
      `${path} is damaged. Start the daemon ("sudo systemctl restart courtd"): it sets the file aside and begins a new one.`,
    );
  } finally {
    file?.close();
  }
}
