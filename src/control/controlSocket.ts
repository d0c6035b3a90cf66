import fs from 'node:fs';
import path from 'node:path';
import { OperatorError } from '../base/operatorError.ts';

/** sun_path (unix(7)) holds 108 bytes, with a zero byte at the end. */
const PATH_BYTES = 107;
const SOCKET_MODE = 0o660;
/** While it is being created: nobody can connect before it has its mode. */
const SOCKET_UMASK = 0o777 & ~SOCKET_MODE;

/**
 * @returns what has the name of a socket of the data directory; undefined if nothing does.
 * @throws {OperatorError} if no socket can have this name, or something else has it.
 */
export function checkSocketFile(file: string): fs.Stats | undefined {
  if (Buffer.byteLength(file) > PATH_BYTES) {
    throw new OperatorError(
      `${file} is too long for the name of a socket (${PATH_BYTES} bytes at most): give the data directory a shorter path.`,
    );
  }
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined || stat.isSocket()) return stat;
  throw new OperatorError(
    `${file} is not a socket of courtd. Remove it with "sudo rm -r ${file}", then run "sudo systemctl restart courtd".`,
  );
}

/** Removes the socket of a daemon that was killed. The caller holds the directory's lock, so no other daemon uses it. */
export function removeStale(file: string): void {
  if (checkSocketFile(file) !== undefined) fs.rmSync(file, { force: true });
}

/** Creates a socket that only its owner and group can open. @param bind creates it before it returns. */
export function bindPrivately(file: string, bind: (file: string) => void): void {
  const before = process.umask(SOCKET_UMASK);
  try {
    bind(file);
  } finally {
    process.umask(before);
  }
}

/** For a directory whose group new files do not inherit. A user outside that group cannot give it away: the socket then keeps the user's own. */
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
