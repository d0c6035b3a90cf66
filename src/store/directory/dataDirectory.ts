import fs from 'node:fs';
import path from 'node:path';
import { fsync } from '../../base/atomicFile.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { actAsOwner, becomeOwner, isSharedByRoot } from '../../base/processIdentity.ts';
import { isMember } from './permissionHint.ts';

/** New files in it have its group. */
const SETGID = 0o2000;
const DIRECTORY_MODE = SETGID | 0o770;
/** What is opened by its name; who may open what else is there, such as an export that root has made, does not matter. */
const OWN_FILES = [
  'courtd.db',
  'courtd.db-wal',
  'courtd.db-shm',
  'courtd.db-journal',
  'courtd.lock',
  'courtd.prune',
  'courtd.clock',
  'courtd.reserve',
];

/** @returns the path of the database in a data directory. */
export function databaseFile(directory: string): string {
  return path.join(directory, 'courtd.db');
}

/**
 * The first step of whoever works in a data directory: root becomes its owner, and nothing is opened or made there that
 * the daemon could not open, or that is not where it seems to be.
 * @param staysRoot root is the owner by its effective ids alone (processIdentity.ts).
 * @throws {StoreError} and the system's refusals. Nothing is changed then.
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

/** SQLite opens a file that it may not write all the same, and makes others beside it. @throws naming what is closed. */
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
    // Whoever opens a pipe waits for somebody at its other end, and hears no signal meanwhile.
    if (stat !== undefined && !stat.isFile() && !stat.isDirectory()) {
      throw new OperatorError(
        `${file} is a pipe, a socket or a device, which courtd never creates: remove it.`,
      );
    }
    try {
      if (stat !== undefined) fs.accessSync(file, R_OK | W_OK);
    } catch (error) {
      // A command that ends takes away what SQLite has beside the database.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

/** What a member of the group makes is open to the daemon, the directory's owner, through the group alone. */
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

/** Makes the data directory where there is none. */
export function makeDataDirectory(directory: string): void {
  if (fs.existsSync(directory)) return;
  makeDirectory(path.resolve(directory));
  fs.chmodSync(directory, DIRECTORY_MODE);
}

/** With its parents. Node's own recursive mkdir never ends where none can be made, such as in /proc. */
function makeDirectory(directory: string): void {
  const parent = path.dirname(directory);
  if (!fs.existsSync(parent)) makeDirectory(parent);
  fs.mkdirSync(directory);
  // Or the power takes the directory away, and with it all that was synced in it.
  fsync(parent);
}
