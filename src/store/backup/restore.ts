import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { getSystemErrorMessage } from 'node:util';
import Database from 'better-sqlite3';
import {
  createPartial,
  fsync,
  partialNameOf,
  publish,
  removeLeftovers,
  removePartial,
  telling,
  unusedName,
} from '../../base/atomicFile.ts';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { createPrivate } from '../../base/privateFile.ts';
import { databaseFile, enterDirectory, makeDataDirectory } from '../directory/dataDirectory.ts';
import { lockDirectory } from '../directory/directoryLock.ts';
import { type Header, headerOf, readHeader } from '../layout/fileHeader.ts';
import { SCHEMA_VERSION } from '../layout/schema.ts';
import { explain } from '../open/openErrors.ts';
import { failureKind } from '../sqlite/errors.ts';
import { type Contents, verifyDatabase } from './verifyDatabase.ts';

/** A piece of a file that is copied: signals are seen between two of them. */
const COPY_BYTES = 1024 ** 2;

export interface Restored extends Contents {
  /** Where the replaced database is; null where there was none. */
  readonly previousDatabase: string | null;
}

const { O_RDONLY, O_WRONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

/** What a database can have beside it that belongs to it; `-shm` holds nothing. */
const COMPANIONS = ['-wal', '-journal'] as const;

/**
 * Puts a copy of `file` in the place of the database, and keeps that one under another name. `file` is not opened by
 * SQLite and stays as it is: what is checked is the copy.
 *
 * In an order that leaves a database of this name at every moment, the old one or the new one: a daemon that finds none
 * would begin with an empty one. And no log of the old one is ever beside the new one, which would be ruined by it.
 * @throws {StoreError} where the daemon runs, `file` is not a whole backup, or there is no room. Nothing is changed then.
 */
export async function restoreDatabase(directory: string, file: string): Promise<Restored> {
  const target = databaseFile(directory);
  // As whoever calls: root may read what the owner of the data directory may not.
  const source = openBackup(file);
  try {
    if (isSame(source[0]!.fd, target))
      throw new OperatorError(`${file} is the database itself: name a backup.`);
    enterDirectory(directory);
    makeDataDirectory(directory);
    const lock = lockDirectory(directory);
    try {
      removeLeftovers(directory, (name) => name === path.basename(target));
      const partial = createPartial(target);
      const contents = await copyChecked(file, source, partial);
      // A signal that came meanwhile is seen now, or not before the end.
      await setImmediate();
      const previousDatabase = replace(target, partial);
      return { ...contents, previousDatabase };
    } finally {
      removePartial(partialNameOf(target));
      lock.close();
    }
  } catch (error) {
    throw explain(error, directory);
  } finally {
    for (const { fd } of source) fs.closeSync(fd);
  }
}

/** A file of the backup: the database, or a log beside it. */
interface Part {
  readonly companion: string;
  readonly fd: number;
}

/**
 * Looks at the first bytes, so that nothing is made or copied for a file that cannot be meant.
 * @returns the backup and the logs that it may have.
 */
function openBackup(file: string): Part[] {
  const source: Part[] = [];
  try {
    source.push({ companion: '', fd: fs.openSync(file, O_RDONLY | O_NONBLOCK) });
    refuseForeign(file, headerOf(source[0]!.fd));
    for (const companion of COMPANIONS) {
      if (!hasContent(file + companion)) continue;
      // No link: whoever may write beside the backup could have root read anything out of it.
      source.push({ companion, fd: fs.openSync(file + companion, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) });
    }
    return source;
  } catch (error) {
    for (const { fd } of source) fs.closeSync(fd);
    if (error instanceof OperatorError) throw error;
    const { code, errno, message, path: named = file } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP' && named !== file) {
      throw new OperatorError(
        `${named} is a symbolic link: nothing was changed. Remove it, or restore another backup.`,
      );
    }
    const reason = errno === undefined ? message : getSystemErrorMessage(errno);
    throw new OperatorError(`Cannot read ${named}: ${reason}.`);
  }
}

function isSame(fd: number, file: string): boolean {
  const [one, other] = [fs.fstatSync(fd), fs.statSync(file, { throwIfNoEntry: false })];
  return one.dev === other?.dev && one.ino === other.ino;
}

/** Copies the backup, with a log that it may have, into one file without a log. */
async function copyChecked(file: string, source: readonly Part[], partial: string): Promise<Contents> {
  for (const { companion, fd } of source) {
    if (companion !== '') createPrivate(partial + companion);
    // Signals are seen between the turns of the event loop.
    for (const _ of copying(fd, partial + companion)) await setImmediate();
  }
  try {
    removeWal(partial);
    return verifyDatabase(partial, { indexes: true });
  } catch (error) {
    if (failureKind(error) === 'full') throw error;
    const what = error instanceof OperatorError ? error.message : 'is damaged';
    throw new OperatorError(`${file} ${what}: nothing was changed. Restore another backup.`);
  }
}

/** @returns the name that the replaced database is preserved under. */
function replace(target: string, partial: string): string | null {
  // One that cannot be read is preserved as it is, with its logs.
  const exclusive = hasContent(target) && readHeader(target).isOurs ? tryOpenExclusively(target) : undefined;
  const opened: number[] = [];
  try {
    return swap(target, partial, opened);
  } finally {
    exclusive?.close();
    for (const fd of opened) fs.closeSync(fd);
  }
}

/** @param opened takes descriptors of the database: one that is closed takes the locks of `exclusive` along. */
function swap(target: string, partial: string, opened: number[]): string | null {
  const directory = path.dirname(target);
  const parts = ['', ...COMPANIONS].filter((part) => hasContent(target + part));
  const preserved = parts.length === 0 ? null : unusedName((time) => `${target}.replaced-${time}`);
  for (const part of parts) preserve(target + part, preserved + part, opened);
  fsync(directory);
  for (const part of [...COMPANIONS, '-shm']) fs.rmSync(target + part, { force: true });
  fsync(directory);
  publish(partial, target);
  return preserved;
}

/** A second name for one file: the first one stays until another file takes it. */
function preserve(file: string, preserved: string, opened: number[]): void {
  telling(preserved, () => {
    try {
      fs.linkSync(file, preserved);
    } catch {
      // A file system without links.
      const fd = fs.openSync(file, O_RDONLY);
      opened.push(fd);
      createPrivate(preserved);
      for (const _ of copying(fd, preserved));
      fsync(preserved);
    }
  });
}

/** Copies an open file from its beginning into one that is there, a piece a step. */
function* copying(from: number, to: string): Generator<void> {
  const fd = fs.openSync(to, O_WRONLY | O_NOFOLLOW);
  try {
    const piece = Buffer.alloc(COPY_BYTES);
    for (let at = 0; ; ) {
      const read = fs.readSync(from, piece, 0, COPY_BYTES, at);
      if (read === 0) return;
      for (let written = 0; written < read; ) {
        written += fs.writeSync(fd, piece, written, read - written, at + written);
      }
      at += read;
      yield;
    }
  } finally {
    fs.closeSync(fd);
  }
}

/** @throws where another program has it open, which would go on with the replaced one. */
function tryOpenExclusively(file: string): Database.Database | undefined {
  try {
    return openExclusively(file);
  } catch (error) {
    if (['busy', 'full'].includes(failureKind(error))) throw error;
    return undefined;
  }
}

/** Brings all of a log into its database, and does without one until it is opened the next time. */
function removeWal(file: string): void {
  openExclusively(file).close();
}

/**
 * The same, and keeps others out until the connection is closed: whoever opened it again meanwhile would write to it,
 * and leave a log beside the file that has its name by then. No other descriptor of it may be closed here: its locks
 * would go with it.
 */
function openExclusively(file: string): Database.Database {
  const db = new Database(file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
  try {
    db.pragma('synchronous = FULL');
    db.pragma('journal_mode = DELETE');
    db.exec('BEGIN EXCLUSIVE');
    // Somebody was faster, and it has a log again.
    if (db.pragma('journal_mode', { simple: true }) === 'wal') {
      throw new Database.SqliteError('opened by another program', 'SQLITE_BUSY');
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function refuseForeign(file: string, header: Header): void {
  if (!header.isOurs || header.version === 0) {
    throw new OperatorError(`${file} is not a courtd database: nothing was changed. Name a backup.`);
  }
  if (header.version > SCHEMA_VERSION) {
    throw new OperatorError(
      `${file} was written by a newer courtd (layout ${header.version}, this version supports up to ${SCHEMA_VERSION}): nothing was changed. Install that version, or name an older backup.`,
    );
  }
}

function hasContent(file: string): boolean {
  return (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
