import fs from 'node:fs';
import path from 'node:path';
import { fsync } from '../../base/atomicFile.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { actAsOwner, becomeOwner, isSharedByRoot } from '../../base/processIdentity.ts';
import { isMember } from './permissionHint.ts';

/** New files inherit the group of the directory. */
const SETGID = 0o2000;
const DIRECTORY_MODE = SETGID | 0o770;
/**
 * The files that courtd opens by name. Others, such as an export that root has written, need not be
 * accessible.
 */
const OWN_FILES = [
  'courtd.db',
  'courtd.db-wal',
  'courtd.db-shm',
  'courtd.db-journal',
  'courtd.lock',
  'courtd.clock',
  'courtd.new',
  'courtd.reserve',
  'courtd.ship',
  'courtd.shipper',
];

/** @returns the path of the database in a data directory. */
export function databaseFile(directory: string): string {
  return path.join(directory, 'courtd.db');
}

/**
 * Call it before anything else in a data directory. Root becomes the owner of the directory, and nothing is
 * opened or created there that the daemon could not open, or that is a link elsewhere.
 * @param staysRoot root changes its effective ids only (processIdentity.ts).
 * @throws {OperatorError} and the system's errors; nothing has been changed then.
 */
export function enterDirectory(directory: string, staysRoot = false): void {
  const stat = fs.statSync(directory, { throwIfNoEntry: false });
  if (process.getuid?.() === 0 && stat !== undefined && isSharedByRoot(stat)) {
    throw new OperatorError(
      `${directory} belongs to root, and other users may write to it, so a symbolic link in it could make root write anywhere: give it to ` +
        `the user that courtd runs as ("sudo chown courtd ${directory}"), or let nobody else write to it ("sudo chmod go-w ${directory}").`,
    );
  }
  if (staysRoot) actAsOwner(directory);
  else becomeOwner(directory);
  if (stat?.isDirectory() !== true) return;
  refuseInaccessible(directory);
  refuseForeignGroup(directory, stat);
}

/**
 * SQLite opens a file even where it may not write to it, and creates others beside it.
 * @throws the system's error, with the path that is not accessible.
 */
function refuseInaccessible(directory: string): void {
  const { R_OK, W_OK, X_OK } = fs.constants;
  fs.accessSync(directory, R_OK | W_OK | X_OK);
  for (const name of OWN_FILES) {
    const file = path.join(directory, name);
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) {
      throw new OperatorError(
        `${file} is a symbolic link, which courtd does not follow: remove it, or replace it with the file that it points to.`,
      );
    }
    // Opening a pipe blocks until somebody opens its other end, and no signal is handled meanwhile.
    if (stat !== undefined && !stat.isFile() && !stat.isDirectory()) {
      throw new OperatorError(
        `${file} is a pipe, a socket or a device, which courtd never creates: remove it.`,
      );
    }
    try {
      if (stat !== undefined) fs.accessSync(file, R_OK | W_OK);
    } catch (error) {
      // A command that ends removes the files that SQLite has beside the database.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

/** The daemon, the owner of the directory, can open the files of a group member through the group alone. */
function refuseForeignGroup(directory: string, { uid, gid, mode }: fs.Stats): void {
  const own = process.getuid?.();
  if (own === undefined || own === 0 || own === uid || uid === 0) return;
  if (process.getegid!() !== gid && (mode & SETGID) === 0) {
    throw new OperatorError(
      `The daemon could not open the files that you create in ${directory}: use sudo, or let new files inherit its group ` +
        `("sudo chmod g+s ${directory}").`,
    );
  }
  if (!isMember(uid, gid)) {
    throw new OperatorError(
      `The daemon could not open the files that you create in ${directory}, because the owner of the directory is not in its ` +
        `group: use sudo, or give the directory a group of its owner.`,
    );
  }
}

/**
 * Creates the data directory, with its parents, where it does not exist.
 * @throws the system's error.
 */
export function makeDataDirectory(directory: string): void {
  if (fs.existsSync(directory)) return;
  makeDirectory(path.resolve(directory));
  fs.chmodSync(directory, DIRECTORY_MODE);
}

/**
 * Creates the parents as well. Node's own recursive mkdir never returns where none can be created, such as in
 * /proc.
 */
function makeDirectory(directory: string): void {
  const parent = path.dirname(directory);
  if (!fs.existsSync(parent)) makeDirectory(parent);
  fs.mkdirSync(directory);
  // Otherwise a power failure may remove the directory, with everything that was synced in it.
  fsync(parent);
}
