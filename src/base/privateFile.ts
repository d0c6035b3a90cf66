import fs from 'node:fs';
import { inheritOwner } from './owner.ts';

/** Read and write for owner and group, nothing for others: the database holds what cameras sent, and hashes of tokens. */
const FILE_MODE = 0o660;
const SMALL_FILE_BYTES = 16 * 1024;
const { O_NOFOLLOW, O_NONBLOCK } = fs.constants;

/**
 * Opens an existing file under whose name somebody may have put anything: opening a pipe would block, and a symbolic link leads
 * elsewhere. (What is created with 'wx' is never a link.)
 * @returns the descriptor. @throws Node's error.
 */
export function openCarefully(file: string, flags: number): number {
  return fs.openSync(file, flags | O_NOFOLLOW | O_NONBLOCK);
}

/** Reads once: a file that somebody put there may have no end. @returns its first SMALL_FILE_BYTES as text. @throws Node's error. */
export function readSmall(file: string): string {
  const fd = openCarefully(file, fs.constants.O_RDONLY);
  try {
    const bytes = Buffer.alloc(SMALL_FILE_BYTES);
    return bytes.toString('utf8', 0, fs.readSync(fd, bytes));
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Creates an empty file with mode 0660, whatever the umask. SQLite gives `-wal` and `-shm` the owner and mode of their database.
 * @throws EEXIST if the path exists, even as a symbolic link: anybody who can write to the directory could have made it.
 */
export function createPrivate(file: string): void {
  const fd = fs.openSync(file, 'wx', FILE_MODE);
  try {
    inheritOwner(fd, file);
    fs.fchmodSync(fd, FILE_MODE);
  } finally {
    fs.closeSync(fd);
  }
}

/** Creates the file if it does not exist; another process may create it first. */
export function createPrivateIfMissing(file: string): void {
  try {
    createPrivate(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
