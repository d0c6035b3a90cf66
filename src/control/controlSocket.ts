import fs from 'node:fs';
import path from 'node:path';
import { OperatorError } from '../base/operatorError.ts';

/** The name of the socket through which commands speak to the daemon. */
export function controlFile(directory: string): string {
  return path.join(directory, 'control.sock');
}

/** sun_path of unix(7) holds 108 bytes with the zero at its end. */
const PATH_BYTES = 107;
const SOCKET_MODE = 0o660;
/** While it is made: nobody gets in before it has its mode. */
const SOCKET_UMASK = 0o777 & ~SOCKET_MODE;

/** @throws {OperatorError} where no socket can have this name, or where something else has it. */
export function checkControlFile(directory: string): fs.Stats | undefined {
  return checkSocketFile(controlFile(directory));
}

/** The same for another socket of the data directory. */
export function checkSocketFile(file: string): fs.Stats | undefined {
  if (Buffer.byteLength(file) > PATH_BYTES) {
    throw new OperatorError(
      `${file} is too long for the name of a socket (${PATH_BYTES} bytes at most): give the data directory a shorter path.`,
    );
  }
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined || stat.isSocket()) return stat;
  const what = stat.isSymbolicLink() ? 'a link' : stat.isDirectory() ? 'a directory' : 'no socket';
  throw new OperatorError(
    `${file} is ${what}, and none of courtd's: remove it ("sudo rm -r ${file}"); the daemon then makes its own within a few seconds.`,
  );
}

/** Removes the socket of a daemon that was killed. Whoever calls this has the directory's lock: no other daemon lives there. */
export function removeStale(file: string): void {
  if (checkSocketFile(file) !== undefined) fs.rmSync(file, { force: true });
}

/** Makes a socket with its mode and the group of its directory. @param bind makes it, before it returns. */
export function bindPrivately(file: string, bind: (file: string) => void): void {
  const before = process.umask(SOCKET_UMASK);
  try {
    bind(file);
  } finally {
    process.umask(before);
  }
}

/** Where a directory does not give its group to what is made in it. A user who is not in that group cannot: then the mode is for its own. */
export function giveToGroup(file: string): void {
  fs.chmodSync(file, SOCKET_MODE);
  const { gid } = fs.statSync(path.dirname(file));
  if (fs.lstatSync(file).gid === gid) return;
  try {
    fs.chownSync(file, -1, gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}
