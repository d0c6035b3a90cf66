import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';

const { R_OK, W_OK, X_OK } = fs.constants;

/**
 * Call it before anything else in a data directory: nothing is opened or created there that is a link elsewhere, and SQLite opens a
 * database even if it may not write to it, and creates others next to it.
 * @throws {OperatorError} and the system's errors, with the path that is not accessible; nothing has been changed then.
 */
export function enterDirectory(directory: DataDirectory): void {
  if (!fs.statSync(directory.path, { throwIfNoEntry: false })?.isDirectory()) return;
  fs.accessSync(directory.path, R_OK | W_OK | X_OK);
  for (const file of directory.ownFiles()) {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    // Opening a pipe blocks until somebody opens its other end, and no signal is handled meanwhile.
    if (stat !== undefined && !stat.isFile() && !stat.isDirectory())
      throw new OperatorError(
        `${file} is a symbolic link, a pipe, a socket or a device, which courtd does not open. Remove it.`,
      );
  }
  const database = directory.file('database');
  if (fs.existsSync(database)) fs.accessSync(database, R_OK | W_OK);
}
