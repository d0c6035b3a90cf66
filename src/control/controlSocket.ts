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

/**
 * Creates a socket that only its owner and the group of its directory can open, in the place of one of a daemon that was killed. The
 * caller holds the lock of the directory. @param bind creates it before it returns, or fails later.
 * @throws {OperatorError} as checkSocketFile.
 */
export function bindPrivately(file: string, bind: (file: string) => void): void {
  if (checkSocketFile(file) !== undefined) fs.rmSync(file, { force: true });
  const before = process.umask(SOCKET_UMASK);
  try {
    bind(file);
  } finally {
    process.umask(before);
  }
  const { gid } = fs.statSync(path.dirname(file));
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.gid === gid) return;
  try {
    // New files do not inherit the group of every directory.
    fs.chownSync(file, -1, gid);
  } catch (error) {
    // A user outside that group cannot give it away: the socket keeps the user's own. Without a socket, `bind` reports why.
    if (!['EPERM', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
