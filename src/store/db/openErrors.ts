import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';

/**
 * @returns an OperatorError for a foreseen failure to open or write a data directory, with the failure as its
 * cause; other errors unchanged.
 */
export function explain(error: unknown, directory: DataDirectory): unknown {
  if (error instanceof OperatorError) return error;
  const { code = '', path = directory.path, message } = error as NodeJS.ErrnoException;
  const known = sentences(directory, code, path).find(([pattern]) => pattern.test(`${code} ${message}`));
  return known === undefined ? error : new OperatorError(known[1], { cause: error });
}

/** @param fault the end of a sentence about the database (startFault.ts). */
export function unsound(directory: DataDirectory, fault: string): OperatorError {
  return new OperatorError(
    `The database in ${directory} ${fault}. Nothing was changed. Keep a copy of it, and restore a backup: "sudo courtd restore FILE --salvage".`,
  );
}

/** @returns what fails, as a pattern of its code and message, with the sentence for it. */
function sentences(directory: DataDirectory, code: string, file: string): [RegExp, string][] {
  return [
    [
      /^(EACCES|EPERM|SQLITE_CANTOPEN|SQLITE_READONLY(?!_DBMOVED))/,
      `${file} is not accessible to this user. Use sudo, join the group that owns ${directory}, or give it the owner of that ` +
        `("sudo chown --reference=${directory} ${file} && sudo chmod ug+rw ${file}").`,
    ],
    [
      /^(ENOTDIR|EEXIST|EISDIR|ENOENT)/,
      `${directory} cannot have a database. Name another directory with --data.`,
    ],
    [
      /^EROFS/,
      `${directory} is on a read-only file system, which is how Linux leaves a disk after an error ("sudo dmesg" shows it). ` +
        'Make it writable, or copy the directory to another disk and name the copy with --data.',
    ],
    // IOERR_SHMSIZE: the -shm file, which SQLite creates next to the database at every start.
    [
      /^(ENOSPC|SQLITE_FULL|SQLITE_IOERR_SHMSIZE)/,
      `The disk of ${directory} is full. Free some space and try again.`,
    ],
    // The header says that the layout is ours, and then a table or a column has another name.
    [/^SQLITE_(CORRUPT|NOTADB|ERROR no such (table|column|index))/, unsound(directory, 'is damaged').message],
    [
      /^SQLITE_(BUSY|LOCKED|READONLY_DBMOVED)/,
      `The database in ${directory} is locked by another program. Try again when it is done.`,
    ],
    [
      /^SQLITE_IOERR_(WRITE|FSYNC|DIR_FSYNC|TRUNCATE)/,
      `The disk of ${directory} failed a write, or does not support files this large (FAT: 4 GiB) (${code}). Check it, or choose another place.`,
    ],
    [/^(EIO|SQLITE_IOERR)/, `The disk of ${directory} failed a read or a write (${code}). Check the disk.`],
  ];
}
