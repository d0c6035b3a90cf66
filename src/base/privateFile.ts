import fs from 'node:fs';

/** Read and write for owner and group, nothing for others: the database holds what cameras sent, and hashes of tokens. */
const FILE_MODE = 0o660;
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
/** For a name under which somebody may have put anything: opening a pipe would block, and a symbolic link points elsewhere. */
const CAREFULLY = O_NOFOLLOW | O_NONBLOCK;

/**
 * Creates an empty file with mode 0660, whatever the umask. SQLite gives `-wal` and `-shm` the owner and mode of their database.
 * @throws EEXIST where the path exists, even as a symbolic link: whoever can write to the directory could have put it there.
 */
export function createPrivate(file: string): void {
  const fd = fs.openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE);
  try {
    fs.fchmodSync(fd, FILE_MODE);
  } finally {
    fs.closeSync(fd);
  }
}

/** Creates the file where it does not exist; another process may create it first. */
export function createPrivateIfMissing(file: string): void {
  try {
    createPrivate(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** No small file has more. */
export const SMALL_FILE_BYTES = 16 * 1024;

/**
 * In a single read, since a file that somebody put there may have no end.
 * @returns the text of a small file: its first 16 KiB. @throws Node's error.
 */
export function readPrivate(file: string): string {
  const fd = fs.openSync(file, O_RDONLY | CAREFULLY);
  try {
    const bytes = Buffer.alloc(SMALL_FILE_BYTES);
    return bytes.toString('utf8', 0, fs.readSync(fd, bytes));
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Writes over a small file in place, and creates it where it does not exist: on a full disk there is room for that, as long as the
 * text always has the same length. @throws Node's error.
 */
export function overwritePrivate(file: string, text: string): void {
  createPrivateIfMissing(file);
  const fd = fs.openSync(file, O_WRONLY | CAREFULLY);
  try {
    fs.writeSync(fd, text);
  } finally {
    fs.closeSync(fd);
  }
}
