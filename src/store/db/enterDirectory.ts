import fs from 'node:fs';
import { type DataDirectory, SETGID } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';

/**
 * Call it before anything else in a data directory: nothing is opened or created there that the daemon could not open, or that is
 * a link elsewhere.
 * @throws {OperatorError} and the system's errors; nothing has been changed then.
 */
export function enterDirectory(directory: DataDirectory): void {
  const stat = fs.statSync(directory.path, { throwIfNoEntry: false });
  if (stat?.isDirectory() !== true) return;
  refuseInaccessible(directory);
  refuseForeignGroup(directory, stat);
}

/**
 * SQLite opens a file even if it may not write to it, and creates others next to it.
 * @throws the system's error, with the path that is not accessible.
 */
function refuseInaccessible(directory: DataDirectory): void {
  const { R_OK, W_OK, X_OK } = fs.constants;
  fs.accessSync(directory.path, R_OK | W_OK | X_OK);
  for (const file of directory.ownFiles()) {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    // Opening a pipe blocks until somebody opens its other end, and no signal is handled meanwhile.
    if (stat !== undefined && !stat.isFile() && !stat.isDirectory())
      throw new OperatorError(
        `${file} is a symbolic link, a pipe, a socket or a device, which courtd does not open. Remove it.`,
      );
    try {
      if (stat !== undefined) fs.accessSync(file, R_OK | W_OK);
    } catch (error) {
      // A command that ends removes SQLite's other files.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

/** The daemon, the owner of the directory, can open the files of a group member through the group alone. */
function refuseForeignGroup(directory: DataDirectory, { uid, gid, mode }: fs.Stats): void {
  const own = process.getuid?.();
  if (own === undefined || own === 0 || own === uid || uid === 0) return;
  if (process.getegid!() === gid || (mode & SETGID) !== 0) return;
  throw new OperatorError(
    `The daemon could not open the files that you create in ${directory}. Use sudo, or let new files inherit its group ` +
      `("sudo chmod g+s ${directory}").`,
  );
}
