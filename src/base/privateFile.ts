import fs from 'node:fs';

/** A file is open to its owner and group, and closed to others (design 3). */
const FILE_MODE = 0o660;
const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;

/**
 * Makes an empty file that is closed to others, whatever the umask is. SQLite gives `-wal` and `-shm` the owner and mode of
 * their database.
 * @throws EEXIST where something has the name, a link too: whoever may write to the directory could have put it there.
 */
export function createPrivate(file: string): void {
  const fd = fs.openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE);
  try {
    fs.fchmodSync(fd, FILE_MODE);
  } finally {
    fs.closeSync(fd);
  }
}

/** The same, where there is none: another process may be faster. */
export function createPrivateIfMissing(file: string): void {
  try {
    createPrivate(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
