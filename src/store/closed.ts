import fs from 'node:fs';
import path from 'node:path';

/** A file is open to its owner and group, and closed to others (design 3). */
const FILE_MODE = 0o660;

/**
 * Makes an empty file that is closed to others, and open to the owner of its directory even if root makes it.
 * SQLite gives `-wal` and `-shm` the owner and mode of their database.
 */
export function createClosed(file: string): void {
  fs.closeSync(fs.openSync(file, 'a', FILE_MODE));
  fs.chmodSync(file, FILE_MODE);
  const owner = fs.statSync(path.dirname(file));
  if (process.getuid?.() === 0) fs.chownSync(file, owner.uid, owner.gid);
}
