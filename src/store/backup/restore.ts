import fs from 'node:fs';
import path from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { explainWriteErrors, fsync, publish, unusedName } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { OperatorError, reasonOf } from '../../base/operatorError.ts';
import { createPrivate, openCarefully } from '../../base/privateFile.ts';
import { becomeOwner } from '../../base/processIdentity.ts';
import { enterDirectory } from '../directory/enterDirectory.ts';
import { makeAside } from '../directory/makeAside.ts';
import { forgetNewDatabase } from '../directory/newDatabase.ts';
import { applyLedger } from '../erasure/erase.ts';
import { beginEpoch, type Epoch, readEpochs } from '../layout/epochs.ts';
import { type FileHeader, headerOf, readHeader } from '../layout/fileHeader.ts';
import { migrate, SCHEMA_VERSION } from '../layout/schema.ts';
import { explain } from '../open/openErrors.ts';
import { rewriteWal } from '../open/rewriteWal.ts';
import { failureKind } from '../sqlite/errors.ts';
import { overwriteDeleted } from '../sqlite/secureDelete.ts';
import { type Kept, keep, keptOf, ledgerFault, NOBODY } from './keptLedger.ts';
import { type Contents, verifyDatabase } from './verifyDatabase.ts';

/** Bytes that are copied between two turns of the event loop, in which signals are handled. */
const COPY_BYTES = 1024 ** 2;
/** Between two looks whether another program has let the database go. */
const RETRY_MS = 50;

/** The contents of the restored database. */
export interface Restored extends Contents {
  /** The path of the replaced database; null where there was none. */
  readonly previousDatabase: string | null;
  /** Its own is the last. */
  readonly epochs: readonly Epoch[];
  /** Events from which players were taken out again, who have been erased since that backup. */
  readonly erasedAgain: number;
  /** Why nobody could be erased again: there was no database of this box, or it cannot be read; undefined: its ledger was applied. */
  readonly ledgerLost: 'missing' | 'unreadable' | undefined;
}

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants;

/** Files beside a database that belong to it. `-shm` holds no data. */
const COMPANIONS = ['-wal', '-journal'] as const;

/**
 * Replaces the database with a copy of `file`, and preserves the replaced one under another name. SQLite
 * never opens `file`, which is not changed: the copy is verified.
 *
 * At every moment there is a database of this name, the previous or the new one: a daemon that found none
 * would create an empty one. And a WAL of the previous one is never beside the new one, which it would
 * corrupt.
 * @throws {OperatorError} where the daemon is running, another program has the database open for longer than
 * COMMAND_BUSY_MS, `file` is not a valid backup, or there is no room. Nothing has been changed then.
 */
export async function restoreDatabase(directory: DataDirectory, file: string): Promise<Restored> {
  const target = directory.file('database');
  // As the calling user: root may read files that the owner of the data directory may not.
  const source = openBackup(file);
  try {
    if (isSame(source[0]!.fd, target))
      throw new OperatorError(`${file} is the database itself: name a backup.`);
    becomeOwner(directory.path);
    enterDirectory(directory);
    return await makeAside(directory, async (partial) => {
      const copied = await copyAndVerify(file, source, partial);
      const kept = hasContent(target) ? keptOf(target) : NOBODY;
      const contents = {
        ...copied,
        erasedAgain: await eraseAgain(partial, kept ?? NOBODY),
        ledgerLost: ledgerFault(kept, copied),
      };
      // A signal that has arrived meanwhile is handled now; after this, not before the end.
      await setImmediate();
      const previousDatabase = await replace(target, partial);
      forgetNewDatabase(directory);
      return { ...contents, previousDatabase };
    });
  } catch (error) {
    throw explain(error, directory);
  } finally {
    for (const { fd } of source) fs.closeSync(fd);
  }
}

/** A file of the backup: the database, or a WAL or journal beside it. */
interface Part {
  readonly companion: string;
  readonly fd: number;
}

/**
 * Reads the header, so that nothing is created or copied for a file that cannot be a backup.
 * @returns the backup with its WAL or journal, if it has one.
 * @throws {OperatorError} where it cannot be read or is no backup.
 */
function openBackup(file: string): Part[] {
  const source: Part[] = [];
  try {
    source.push({ companion: '', fd: fs.openSync(file, O_RDONLY | O_NONBLOCK) });
    refuseForeign(file, headerOf(source[0]!.fd));
    for (const companion of COMPANIONS) {
      if (!hasContent(file + companion)) continue;
      // No symbolic link: whoever may write beside the backup could make root copy any file.
      source.push({ companion, fd: openCarefully(file + companion, O_RDONLY) });
    }
    return source;
  } catch (error) {
    for (const { fd } of source) fs.closeSync(fd);
    if (error instanceof OperatorError) throw error;
    const { code, path: named = file } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP' && named !== file) {
      throw new OperatorError(
        `${named} is a symbolic link: nothing was changed. Remove it, or restore another backup.`,
      );
    }
    if (code === 'EISDIR') throw new OperatorError(`${named} is a directory: name a backup in it.`);
    throw new OperatorError(`Cannot read ${named}: ${reasonOf(error as NodeJS.ErrnoException)}.`);
  }
}

function isSame(fd: number, file: string): boolean {
  const [one, other] = [fs.fstatSync(fd), fs.statSync(file, { throwIfNoEntry: false })];
  return one.dev === other?.dev && one.ino === other.ino;
}

/**
 * Copies the backup, with its WAL or journal, into a single file, verifies that, and makes of it what a daemon of this version
 * uses.
 */
async function copyAndVerify(
  file: string,
  source: readonly Part[],
  partial: string,
): Promise<Contents & Pick<Restored, 'epochs'>> {
  for (const { companion, fd } of source) {
    if (companion !== '') createPrivate(partial + companion);
    // Signals are handled between two turns of the event loop.
    for (const _ of copying(fd, partial + companion)) await setImmediate();
  }
  try {
    // Checkpoints the whole WAL into the copy.
    openExclusively(partial).close();
    const contents = verifyDatabase(partial, { indexes: true });
    return { ...contents, epochs: makeCurrent(partial) };
  } catch (error) {
    if (failureKind(error) === 'full') throw error;
    const what = error instanceof OperatorError ? error.message : 'is damaged';
    throw new OperatorError(`${file} ${what}: nothing was changed. Restore another backup.`);
  }
}

/**
 * Brings the copy to the present layout: the backup is the copy that an upgrade would make first. Then begins an epoch: the seqs
 * after those of the backup will be assigned to other events than before.
 * @returns its epochs, the new one last.
 */
function makeCurrent(file: string): Epoch[] {
  const db = openExclusively(file);
  try {
    migrate(db);
    beginEpoch(db);
    db.exec('COMMIT');
    return readEpochs(db);
  } finally {
    db.close();
  }
}

/** Erases again whom the database that is replaced knows to be erased. @returns from how many events. */
async function eraseAgain(partial: string, kept: Kept): Promise<number> {
  const db = openExclusively(partial);
  try {
    db.exec('COMMIT');
    // All of it is synced before the file gets its name (atomicFile.ts).
    db.pragma('synchronous = OFF');
    keep(db, kept);
    return await applyLedger(db);
  } finally {
    db.close();
  }
}

/** @returns the path of the preserved database; null where there was none. */
async function replace(target: string, partial: string): Promise<string | null> {
  // One that cannot be read is preserved as it is, with its WAL.
  const isOurs = hasContent(target) && readHeader(target).isOurs;
  const exclusive = isOurs ? await tryOpenExclusively(target) : undefined;
  const opened: number[] = [];
  try {
    return swap(target, partial, opened);
  } finally {
    exclusive?.close();
    for (const fd of opened) fs.closeSync(fd);
  }
}

/**
 * @param opened gets descriptors of the database, which must not be closed earlier: that would drop the locks
 * of `exclusive`.
 */
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

/** A hard link: the first name stays until it is replaced. */
function preserve(file: string, preserved: string, opened: number[]): void {
  explainWriteErrors(preserved, () => {
    try {
      fs.linkSync(file, preserved);
    } catch {
      // A file system without hard links.
      const fd = fs.openSync(file, O_RDONLY);
      opened.push(fd);
      createPrivate(preserved);
      for (const _ of copying(fd, preserved));
      fsync(preserved);
    }
  });
}

/** Copies an open file from its start into an existing one, COPY_BYTES a step. */
function* copying(from: number, to: string): Generator<void> {
  const fd = openCarefully(to, O_WRONLY);
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

/**
 * Waits for whoever has the database open for a moment, as `tail --follow` has when something comes. SQLite's own timeout does
 * not: no busy handler is asked when a connection leaves WAL mode (pager.c, pagerExclusiveLock).
 * @returns undefined where the database cannot be read.
 * @throws where another program keeps it open, which would continue with the replaced one; or the system's error.
 */
async function tryOpenExclusively(file: string): Promise<Database.Database | undefined> {
  for (const giveUpAt = performance.now() + COMMAND_BUSY_MS; ; await sleep(RETRY_MS)) {
    try {
      return openExclusively(file);
    } catch (error) {
      const kind = failureKind(error);
      if (kind === 'busy' && performance.now() < giveUpAt) continue;
      if (kind === 'damaged' || kind === 'fatal') return undefined;
      throw error;
    }
  }
}

/**
 * Checkpoints the whole WAL into the database, and keeps other programs out until the connection is closed: one
 * that opened the database meanwhile would write to it, and leave a WAL beside the file that then has its name.
 * No other descriptor of the database may be closed here: that would drop the locks.
 */
function openExclusively(file: string): Database.Database {
  const db = new Database(file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
  try {
    rewriteWal(db);
    overwriteDeleted(db);
    db.pragma('synchronous = FULL');
    db.pragma('journal_mode = DELETE');
    db.exec('BEGIN EXCLUSIVE');
    // Another program was faster, and the database has a WAL again.
    if (db.pragma('journal_mode', { simple: true }) === 'wal') {
      throw new Database.SqliteError('opened by another program', 'SQLITE_BUSY');
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function refuseForeign(file: string, header: FileHeader): void {
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
