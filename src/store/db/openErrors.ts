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
  const code = accessError(directory, fs.constants.W_OK) === 'EROFS' ? 'EROFS' : ownCode;
  const denied = accessError(directory, fs.constants.X_OK) === undefined ? named : directory.path;
  const sentence = SENTENCES.find(([pattern]) => pattern.test(code))?.[1](directory, code, denied);
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
    `The database in ${directory} ${fault}. Nothing was changed: keep a copy of it, and restore a backup: "sudo courtd restore FILE --salvage".`,
  );
}

/**
 * @returns the system's error code, which SQLite hides behind CANTOPEN or READONLY; undefined if access is
 * granted.
 */
function accessError(directory: DataDirectory, mode: number): string | undefined {
  try {
    fs.accessSync(directory.path, mode);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}

/** @param denied the data directory, or a file in it, that this user may not access. @returns what to do about it. */
function permissionHint(denied: string, directory: DataDirectory): string {
  if (denied !== directory.path) {
    return `give it the owner and group of its directory ("sudo chown --reference=${directory} ${denied} && sudo chmod 660 ${denied}")`;
  }
  return 'use sudo, or join the group that owns it';
}

type Sentence = (directory: DataDirectory, code: string, denied: string) => string;

const SENTENCES: ReadonlyArray<readonly [RegExp, Sentence]> = [
  [
    /^(EACCES|EPERM|SQLITE_CANTOPEN|SQLITE_READONLY(?!_DBMOVED))/,
    (directory, _code, denied) =>
      `${denied} is not accessible to this user: ${permissionHint(denied, directory)}.`,
  ],
  [/^(ENOTDIR|EEXIST)/, (directory) => `${directory} is not a directory. Name one with --data.`],
  [
    /^EISDIR/,
    (directory) =>
      `${directory.file('database')} is a directory, not a database: name another data directory with --data.`,
  ],
  [/^ENOENT/, (directory) => `${directory} cannot be created: name another directory with --data.`],
  [
    /^EROFS/,
    (directory) =>
      `${directory} is on a read-only file system, which is how Linux leaves a disk after an error ("sudo dmesg" shows it): ` +
      'make it writable, or copy the directory to another disk and name the copy with --data.',
  ],
  // IOERR_SHMSIZE: the -shm file, which SQLite creates beside the database at every start.
  [
    /^(ENOSPC|SQLITE_FULL|SQLITE_IOERR_SHMSIZE)/,
    (directory) => `The disk of ${directory} is full: free some space and try again.`,
  ],
  [/^SQLITE_(CORRUPT|NOTADB)/, (directory) => unsound(directory, 'is damaged').message],
  [
    /^SQLITE_(BUSY|LOCKED|READONLY_DBMOVED)/,
    (directory) => `The database in ${directory} is locked by another program: try again when it is done.`,
  ],
  [
    /^(EIO|SQLITE_IOERR)/,
    (directory, code) => `The disk of ${directory} failed a read or a write (${code}): check the disk.`,
  ],
];
