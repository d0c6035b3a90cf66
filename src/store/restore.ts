import fs from 'node:fs';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { getSystemErrorMessage } from 'node:util';
import Database from 'better-sqlite3';
import { COMMAND_BUSY_MS } from '../protocol/limits.ts';
import {
  asideOf,
  fsync,
  makeAside,
  putInPlace,
  removeAside,
  removeLeftovers,
  telling,
  unusedName,
} from './aside.ts';
import { createClosed } from './closed.ts';
import { failureKind, StoreError } from './failure.ts';
import { readHeader } from './header.ts';
import { type Contents, inspectCopy } from './inspect.ts';
import { lockDirectory } from './lock.ts';
import { databaseFile, explain, makeDataDirectory } from './open.ts';
import { SCHEMA_VERSION } from './schema.ts';

export interface Restored extends Contents {
  /** Where the replaced database is; null where there was none. */
  readonly keptAs: string | null;
}

/** What a database can have beside it that belongs to it; `-shm` holds nothing. */
const LOGS = ['-wal', '-journal'] as const;

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
  refuseForeign(file);
  try {
    makeDataDirectory(directory);
    if (fs.existsSync(target) && fs.realpathSync(target) === fs.realpathSync(file)) {
      throw new StoreError(`${file} is the database itself: name a backup.`);
    }
    const lock = lockDirectory(directory);
    try {
      removeLeftovers(directory, (name) => name === path.basename(target));
      const aside = makeAside(target);
      const contents = await copyChecked(file, aside);
      // A signal that came meanwhile is seen now, or not before the end.
      await setImmediate();
      const keptAs = replace(target, aside);
      return { ...contents, keptAs };
    } finally {
      removeAside(asideOf(target));
      lock.close();
    }
  } catch (error) {
    throw explain(error, directory);
  }
}

/** Copies the file, with a log that it may have, into one file without a log. */
async function copyChecked(file: string, aside: string): Promise<Contents> {
  for (const companion of ['', ...LOGS]) {
    if (companion !== '' && !hasContent(file + companion)) continue;
    await copyFile(file + companion, aside + companion);
    createClosed(aside + companion);
  }
  try {
    joinLog(aside);
    return inspectCopy(aside, { indexes: true });
  } catch (error) {
    if (failureKind(error) === 'full') throw error;
    const what = error instanceof StoreError ? error.message : 'is damaged';
    throw new StoreError(`${file} ${what}: nothing was changed. Restore another backup.`);
  }
}

/** @returns the name that the replaced database is kept under. */
function replace(target: string, aside: string): string | null {
  // One that cannot be read is kept as it is, with its logs.
  const held = hasContent(target) && readHeader(target).isOurs ? tryHolding(target) : undefined;
  try {
    return exchange(target, aside);
  } finally {
    held?.close();
  }
}

function exchange(target: string, aside: string): string | null {
  const directory = path.dirname(target);
  const parts = ['', ...LOGS].filter((part) => hasContent(target + part));
  const kept = parts.length === 0 ? null : unusedName((time) => `${target}.replaced-${time}`);
  for (const part of parts) keep(target + part, kept + part);
  fsync(directory);
  for (const part of [...LOGS, '-shm']) fs.rmSync(target + part, { force: true });
  fsync(directory);
  putInPlace(aside, target);
  return kept;
}

/** A second name for one file: the first one stays until another file takes it. */
function keep(file: string, kept: string): void {
  telling(kept, () => {
    try {
      fs.linkSync(file, kept);
    } catch {
      // A file system without links.
      fs.copyFileSync(file, kept);
      createClosed(kept);
      fsync(kept);
    }
  });
}

/** @throws where another program has it open, which would go on with the replaced one. */
function tryHolding(file: string): Database.Database | undefined {
  try {
    return hold(file);
  } catch (error) {
    if (['busy', 'full'].includes(failureKind(error))) throw error;
    return undefined;
  }
}

/** Brings all of a log into its database, and does without one until it is opened the next time. */
function joinLog(file: string): void {
  hold(file).close();
}

/**
 * The same, and keeps others out until the connection is closed: whoever opened it again meanwhile would write to it,
 * and leave a log beside the file that has its name by then. No other descriptor of it may be closed here: its locks
 * would go with it.
 */
function hold(file: string): Database.Database {
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

/** Looks at the first bytes, so that nothing is made or copied for a file that cannot be meant. */
function refuseForeign(file: string): void {
  let header: ReturnType<typeof readHeader>;
  try {
    header = readHeader(file);
  } catch (error) {
    const { errno, message } = error as NodeJS.ErrnoException;
    const reason = errno === undefined ? message : getSystemErrorMessage(errno);
    throw new StoreError(`Cannot read ${file}: ${reason}.`);
  }
  if (!header.isOurs || header.version === 0) {
    throw new StoreError(`${file} is not a courtd database: nothing was changed. Name a backup.`);
  }
  if (header.version > SCHEMA_VERSION) {
    throw new StoreError(
      `${file} was written by a newer courtd (layout ${header.version}, this one knows up to ${SCHEMA_VERSION}): nothing was changed. Install that version, or name an older backup.`,
    );
  }
}

function hasContent(file: string): boolean {
  return (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
