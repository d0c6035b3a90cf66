import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { createPartial, publish, removeLeftovers, removePartial } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { isServed } from './directoryLock.ts';
import { withReserve } from './diskReserve.ts';
import { explain, unsound } from './openErrors.ts';
import { rewriteWal } from './rewriteWal.ts';
import { APPLICATION_ID, layoutOf, makeLayout, OVERWRITE_DELETED, SCHEMA_VERSION } from './schema.ts';
import { closeAfter } from './sqliteErrors.ts';
import { startFault } from './startFault.ts';

const { R_OK, W_OK, X_OK } = fs.constants;
/** Page cache of the database, in KiB: 16 MB and 64 MB were no faster (measured). */
const PAGE_CACHE_KIB = 8_000;
/** SQLite truncates the WAL to this size when it starts it again after a checkpoint. */
const WAL_SIZE_LIMIT_BYTES = 64 * 1024 ** 2;
/** The files that courtd keeps next to a database. Not the files of a command that only looks for a database. */
const BESIDE = /^courtd\.(lock|clock|reserve|backup|db-wal|db\.replaced-.*)$/;
/** Of the header of a database (SQLite file format, section 1.3). */
const HEADER_BYTES = 100;

export interface DataOption {
  readonly data: DataDirectory;
}

/** What a command may do to a database that it opens; by default it must exist and be of this layout. */
export interface OpenOptions {
  /** Create the directory and the database if there is none: only `serve` and `token rotate` do. */
  readonly create?: boolean;
  /** The caller is the daemon, which holds the lock: it checks the database. */
  readonly isLocked?: boolean;
}

/**
 * Opens the database of a data directory with the pragmas that make a commit durable.
 * @throws {OperatorError} if the file is missing, foreign, newer, damaged or not accessible.
 */
export function openDatabase(directory: DataDirectory, options: OpenOptions = {}): Database.Database {
  try {
    enterDatabase(directory, options.create);
    return withReserve(directory, () => {
      if (options.isLocked) refuseUnsound(directory);
      const db = new Database(directory.file('database'), { fileMustExist: true, timeout: COMMAND_BUSY_MS });
      try {
        prepare(db, directory, options);
      } catch (error) {
        closeAfter(error, db);
        throw error;
      }
      return db;
    });
  } catch (error) {
    throw explain(error, directory);
  }
}

/**
 * Opens the database of the data directory, runs `work` on it and closes it.
 * @throws {OperatorError} if the database cannot be opened, or fails: what happened and what to do.
 */
export async function withDatabase<Result>(
  { data }: DataOption,
  work: (db: Database.Database) => Result | Promise<Result>,
  options: OpenOptions = {},
): Promise<Result> {
  const db = openDatabase(data, options);
  try {
    return await work(db);
  } catch (error) {
    throw explain(error, data);
  } finally {
    db.close();
  }
}

/**
 * The first checks of `openDatabase`, for a caller that makes a file next to the database before that. It reads the header itself,
 * because SQLite creates and changes files beside a foreign database.
 * @throws {OperatorError} and the system's errors, if the directory or its database is not courtd's: nothing has been changed.
 */
export function enterDatabase(directory: DataDirectory, create = false): void {
  enterDirectory(directory);
  assertDatabase(directory, create);
  const file = directory.file('database');
  if (!isDatabase(file))
    throw new OperatorError(
      `${file} is not a courtd database: nothing was changed. Name another directory with --data.`,
    );
}

/**
 * Call it before anything else in a data directory: nothing is opened or created there that is a link elsewhere, and SQLite opens a
 * database even if it may not write to it, and creates others next to it.
 * @throws {OperatorError} and the system's errors, with the path that is not accessible; nothing has been changed then.
 */
export function enterDirectory(directory: DataDirectory): void {
  if (!fs.statSync(directory.path, { throwIfNoEntry: false })?.isDirectory()) return;
  fs.accessSync(directory.path, R_OK | W_OK | X_OK);
  for (const file of directory.ownFiles()) {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    // Opening a pipe blocks until somebody opens its other end, and no signal is handled meanwhile.
    if (stat !== undefined && !stat.isFile() && !stat.isDirectory())
      throw new OperatorError(
        `${file} is a symbolic link, a pipe, a socket or a device, which courtd does not open. Remove it.`,
      );
  }
  const database = directory.file('database');
  if (fs.existsSync(database)) fs.accessSync(database, R_OK | W_OK);
}

/**
 * A new database in the place of one would hide that a disk is not mounted, or that somebody has moved the other one away.
 * @param create makes the directory and the database, if there never was one.
 * @throws {OperatorError} if there is no database, or none is created because there was one; Node's errors.
 */
export function assertDatabase(directory: DataDirectory, create = false): void {
  if (fs.existsSync(directory.file('database'))) return;
  const names = fs.existsSync(directory.path) ? fs.readdirSync(directory.path) : [];
  const left = names.filter((name) => BESIDE.test(name)).sort();
  if (left.length > 0)
    throw new OperatorError(
      `There is no courtd database in ${directory}, and there was one. Left of it: ${left.join(', ')}. Check that its disk is mounted, and that nobody moved courtd.db. ` +
        'Put it back, or restore a backup ("courtd restore"). If you want a new, empty database, move those files to another directory first.',
    );
  if (!create)
    throw new OperatorError(
      `There is no courtd database in ${directory}. "courtd serve" or "courtd token rotate" makes one; or name the directory that has it with --data.`,
    );
  directory.make();
  makeDatabase(directory.file('database'));
}

/**
 * Makes a database, and gives it its name once it has its tables: a power cut before that leaves none. Another process may be faster.
 * @param change SQL of what is different in it. @throws {OperatorError}, and SQLite's errors.
 */
export function makeDatabase(file: string, change = ''): void {
  removeLeftovers(path.dirname(file), (name) => name === path.basename(file));
  const partial = createPartial(file);
  try {
    const db = new Database(partial);
    makeLayout(db);
    db.exec(change);
    db.close();
    if (!fs.existsSync(file)) publish(partial, file);
  } finally {
    removePartial(partial);
  }
}

/**
 * Whether the header of a file says that it is a database of courtd's. Closing the descriptor drops the
 * locks of every connection of this process to the file: there must be none (../../ARCHITECTURE.md#who-may-open-the-file).
 * @throws the system's error if the file cannot be read.
 */
export function isDatabase(file: string): boolean {
  const bytes = Buffer.alloc(HEADER_BYTES);
  const fd = fs.openSync(file, 'r');
  try {
    fs.readSync(fd, bytes);
  } finally {
    fs.closeSync(fd);
  }
  return bytes.toString('latin1', 0, 16) === 'SQLite format 3\0' && bytes.readUInt32BE(68) === APPLICATION_ID;
}

/** If there is a WAL, over a read-only connection: closing one that can write would checkpoint the WAL into the damaged file. */
function refuseUnsound(directory: DataDirectory): void {
  const readonly = (fs.statSync(directory.file('wal'), { throwIfNoEntry: false })?.size ?? 0) > 0;
  const db = new Database(directory.file('database'), { readonly, timeout: COMMAND_BUSY_MS });
  try {
    refuseNewer(db);
    const fault = startFault(db);
    if (fault !== undefined) throw unsound(directory, fault);
  } finally {
    db.close();
  }
}

function prepare(db: Database.Database, directory: DataDirectory, { create, isLocked }: OpenOptions): void {
  // Reading opens the WAL. What a process that is gone has left there is made durable, unless a daemon has done so.
  layoutOf(db);
  if (isLocked || !isServed(directory)) rewriteWal(db);
  refuseNewer(db);
  // A copy or a backup that is only read keeps its rollback journal: it may be on any file system.
  if ((create || isLocked) && db.pragma('journal_mode = WAL', { simple: true }) !== 'wal')
    throw new OperatorError(
      `${db.name} is on a file system that does not support a write-ahead log. Use a local disk.`,
    );
  db.pragma(`cache_size = -${PAGE_CACHE_KIB}`);
  db.pragma(OVERWRITE_DELETED);
  db.pragma(`journal_size_limit = ${WAL_SIZE_LIMIT_BYTES}`);
  // In WAL mode better-sqlite3 commits without fsync unless this is set on every connection.
  db.pragma('synchronous = FULL');
}

/** @throws {OperatorError} if another version of courtd must open the database. */
function refuseNewer(db: Database.Database): void {
  const version = layoutOf(db);
  if (version > SCHEMA_VERSION)
    throw new OperatorError(
      `${db.name} was written by a newer courtd (layout ${version}, this version supports up to ${SCHEMA_VERSION}): nothing was changed. ` +
        'Install that version again, or restore a backup that this version made.',
    );
}
