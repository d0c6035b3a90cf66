import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { sqliteCode } from './sqliteErrors.ts';

/**
 * @returns an OperatorError for a foreseen failure to open or write a data directory, with the failure as its
 * cause; other errors unchanged.
 */
export function explain(error: unknown, directory: DataDirectory): unknown {
  if (error instanceof OperatorError) return error;
  const { code: own = '', path: named = directory.path } = error as NodeJS.ErrnoException;
  const ownCode = isSchemaDamaged(error) ? 'SQLITE_CORRUPT' : (sqliteCode(error) ?? own);
  const code = isReadOnly(directory) ? 'EROFS' : ownCode;
  const sentence = SENTENCES.find(([pattern]) => pattern.test(code))?.[1](directory, code, named);
  return sentence === undefined ? error : new OperatorError(sentence, { cause: error });
}

/** The header says that the layout is ours, and then a table or a column has another name. */
function isSchemaDamaged(error: unknown): boolean {
  return (
    sqliteCode(error) === 'SQLITE_ERROR' && /^no such (table|column|index)/.test((error as Error).message)
  );
}

/** @param fault the end of a sentence about the database (startFault.ts). */
export function unsound(directory: DataDirectory, fault: string): OperatorError {
  return new OperatorError(
    `The database in ${directory} ${fault}. Nothing was changed. Keep a copy of it, and restore a backup: "sudo courtd restore FILE --salvage".`,
  );
}

/** Whether its file system is: SQLite hides that behind CANTOPEN or READONLY. */
function isReadOnly(directory: DataDirectory): boolean {
  try {
    fs.accessSync(directory.path, fs.constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
}

type Sentence = (directory: DataDirectory, code: string, file: string) => string;

const SENTENCES: ReadonlyArray<readonly [RegExp, Sentence]> = [
  [
    /^(EACCES|EPERM|SQLITE_CANTOPEN|SQLITE_READONLY(?!_DBMOVED))/,
    (directory, _code, file) =>
      `${file} is not accessible to this user. Use sudo, join the group that owns ${directory}, or give it the owner of that ` +
      `("sudo chown --reference=${directory} ${file} && sudo chmod ug+rw ${file}").`,
  ],
  [
    /^(ENOTDIR|EEXIST|EISDIR|ENOENT)/,
    (directory) => `${directory} cannot have a database. Name another directory with --data.`,
  ],
  [
    /^EROFS/,
    (directory) =>
      `${directory} is on a read-only file system, which is how Linux leaves a disk after an error ("sudo dmesg" shows it). ` +
      'Make it writable, or copy the directory to another disk and name the copy with --data.',
  ],
  // IOERR_SHMSIZE: the -shm file, which SQLite creates next to the database at every start.
  [
    /^(ENOSPC|SQLITE_FULL|SQLITE_IOERR_SHMSIZE)/,
    (directory) => `The disk of ${directory} is full. Free some space and try again.`,
  ],
  [/^SQLITE_(CORRUPT|NOTADB)/, (directory) => unsound(directory, 'is damaged').message],
  [
    /^SQLITE_(BUSY|LOCKED|READONLY_DBMOVED)/,
    (directory) => `The database in ${directory} is locked by another program. Try again when it is done.`,
  ],
  [
    /^(EIO|SQLITE_IOERR)/,
    (directory, code) => `The disk of ${directory} failed a read or a write (${code}). Check the disk.`,
  ],
];
