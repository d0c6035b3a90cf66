import fs from 'node:fs';
import path from 'node:path';

const ROOT = 0;

/**
 * Gives what root has just made to the owner and the group of the directory around it, so that the daemon can open it. SQLite does
 * the same with the files that it makes next to a database. A share or a stick without owners gives a file to somebody else: there it stays.
 * @param fd of the file. @throws Node's error.
 */
export function inheritOwner(fd: number, file: string): void {
  if (fs.fstatSync(fd).uid !== ROOT) return;
  const { uid, gid } = fs.statSync(path.dirname(file));
  fs.fchownSync(fd, uid, gid);
}

/** Turns root into the owner of a directory, or of its nearest existing parent, for the life of the process: the daemon is never root there. */
export function becomeOwner(directory: string): void {
  if (process.getuid?.() !== ROOT) return;
  const { uid, gid } = statNearestExisting(directory);
  if (uid === ROOT) return;
  process.setgroups!([gid]);
  process.setgid!(gid);
  process.setuid!(uid);
}

function statNearestExisting(directory: string): fs.Stats {
  const stat = fs.statSync(directory, { throwIfNoEntry: false });
  return stat ?? statNearestExisting(path.dirname(path.resolve(directory)));
}
