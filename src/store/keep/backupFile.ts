import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { OperatorError, reasonOf } from '../../base/operatorError.ts';
import { createPrivate, openCarefully } from '../../base/privateFile.ts';
import { isDatabase } from '../db/openDatabase.ts';

/** Bytes that are copied between two turns of the event loop, in which signals are handled. */
const COPY_BYTES = 1024 ** 2;

/** Files beside a database that belong to it. `-shm` holds no data. */
export const COMPANIONS = ['-wal', '-journal'] as const;

/** What a database is restored from. */
export interface RestoreSource {
  readonly name: string;
  /** Fills an existing empty file. @throws {OperatorError} Node's error. */
  copyTo(target: string): Promise<void>;
}

/**
 * Reads the header of a backup, so that nothing is created or copied for a file that cannot be one. SQLite never opens it.
 * @throws {OperatorError} if it cannot be read or is no backup.
 */
export function backupFile(file: string): RestoreSource {
  let isBackup: boolean;
  try {
    // A pipe cannot be read twice.
    isBackup = fs.statSync(file).isFile() && isDatabase(file);
  } catch (error) {
    throw new OperatorError(`Cannot read ${file}: ${reasonOf(error as NodeJS.ErrnoException)}.`);
  }
  if (isBackup) return { name: file, copyTo: (target) => copyWhole(file, target) };
  throw new OperatorError(`${file} is not a courtd database: nothing was changed. Name a backup.`);
}

/** Copies a backup into an existing file, and its WAL or journal to the names that belong to that. */
async function copyWhole(file: string, target: string): Promise<void> {
  const parts = ['', ...COMPANIONS].filter((part) => hasContent(file + part));
  const look = () => String(parts.map((part) => fs.statSync(file + part, { bigint: true }).mtimeNs));
  const before = look();
  for (const part of parts) {
    // A user who may write there could make root copy any file.
    if (part !== '' && fs.lstatSync(file + part).isSymbolicLink())
      throw new OperatorError(
        `${file}${part} is a symbolic link: nothing was changed. Remove it, or restore another backup.`,
      );
    if (part !== '') createPrivate(target + part);
    await copyFile(file + part, target + part);
  }
  if (look() !== before)
    throw new OperatorError(
      `${file} was written to while it was read: nothing was changed. If it is a copy, end the follower ("sudo systemctl stop courtd-copy") and try again.`,
    );
}

/** Not fs.copyFile, which gives the copy the mode of the file. */
async function copyFile(file: string, target: string): Promise<void> {
  const [from, to] = [fs.openSync(file, 'r'), openCarefully(target, fs.constants.O_WRONLY)];
  const piece = Buffer.alloc(COPY_BYTES);
  try {
    for (let read = -1; read !== 0; await setImmediate()) {
      read = fs.readSync(from, piece);
      fs.writeFileSync(to, piece.subarray(0, read));
    }
  } finally {
    for (const fd of [from, to]) fs.closeSync(fd);
  }
}

/** Whether a file exists and has any. */
export function hasContent(file: string): boolean {
  return (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
