import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { UNFLUSHED } from '../dedup/dedupIndex.ts';
import { enterDirectory, makeDataDirectory } from '../directory/dataDirectory.ts';
import { withRoom } from '../directory/diskReserve.ts';
import { permissionHint } from '../directory/permissionHint.ts';
import { readHeader } from '../layout/fileHeader.ts';
import { migrate, SCHEMA_VERSION } from '../layout/schema.ts';
import { sqliteCode } from '../sqlite/errors.ts';
import { newestPreMigrationCopy } from './preMigrationCopy.ts';

/** Page cache of the database, in KiB: 16 MB, and 64 MB (design 5), were no faster (measured). */
const PAGE_CACHE_KIB = 8_000;
/** The log is cut back to this size when it has been checkpointed (design 5). */
const JOURNAL_SIZE_BYTES = 64 * 1024 ** 2;

export interface OpenOptions {
  /** Make the directory and the database where there is none: only `serve` and `token rotate` do. */
  readonly create?: boolean;
  /** Look for damage first, in the tables that every event needs: only `serve` does. Others get out what can be read. */
  readonly check?: boolean;
  /** Root has something to write elsewhere and stays root under the owner that it acts as: `backup` and `export -o`. */
  readonly staysRoot?: boolean;
  /** Open a database of an older layout too: only `serve` does, which brings it up to date (migrateLayout.ts). */
  readonly older?: boolean;
}

export function databaseFile(directory: string): string {
  return path.join(directory, 'courtd.db');
}

/**
 * Opens the database of a data directory with the pragmas that the promise rests on.
 * @throws {StoreError} with a sentence for people, where the file is missing, foreign, newer, damaged or closed to us.
 */
export function openDatabase(
  directory: string,
  { create = false, check = false, older = false, staysRoot = false }: OpenOptions = {},
): Database.Database {
  const file = databaseFile(directory);
  try {
    enterDirectory(directory, staysRoot);
    if (create) createEmpty(directory, file);
    refuseOthers(file, directory);
    if (check) withRoom(directory, () => refuseDamaged(file));
    return withRoom(directory, () => {
      const db = new Database(file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
      try {
        prepare(db, file, create, older);
      } catch (error) {
        db.close();
        throw error;
      }
      return db;
    });
  } catch (error) {
    throw explain(error, directory);
  }
}

function createEmpty(directory: string, file: string): void {
  makeDataDirectory(directory);
  createPrivateIfMissing(file);
}

/**
 * Looks at the bytes before SQLite opens the file, because opening a foreign one already changes things beside it.
 * Closing the descriptor drops the locks of any other connection of this process: there must be none.
 */
function refuseOthers(file: string, directory: string): void {
  if (!isThere(file)) {
    throw new OperatorError(
      `There is no courtd database in ${directory}: "courtd serve" or "courtd token rotate" makes one.`,
    );
  }
  const header = readHeader(file);
  if (header.isEmpty) return;
  if (!header.isOurs) {
    throw new OperatorError(
      `${file} is not a courtd database: nothing was changed. Name another directory with --data.`,
    );
  }
  refuseNewer(header.version, file);
}

/**
 * Looks at what every event needs, and at what a start reads: the whole file would take seconds. Where there is a log, with
 * a connection that cannot write: closing another one would bring the log into the damaged file.
 */
function refuseDamaged(file: string): void {
  if (fs.statSync(file).size === 0) return;
  const readonly = (fs.statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const db = new Database(file, { readonly, fileMustExist: true, timeout: COMMAND_BUSY_MS });
  try {
    // A power cut while it was being set up.
    if (layoutOf(db) === 0) return;
    for (const table of CHECKED_TABLES) {
      const rows = db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck();
      const isWhole = db.pragma(`quick_check(${table})`, { simple: true }) === 'ok';
      if (isWhole && (table !== 'flushed' || rows.get() === 1)) continue;
      throw new Database.SqliteError(`${table} is damaged`, 'SQLITE_CORRUPT');
    }
    db.prepare(`SELECT max(event_id), max(seq) ${UNFLUSHED}`).get();
  } finally {
    db.close();
  }
}

const CHECKED_TABLES = ['sqlite_schema', 'session', 'origin', 'flushed', 'token'];

/** @throws where that cannot be told: existsSync takes a file in a directory that is closed to us for a missing one. */
function isThere(file: string): boolean {
  try {
    fs.accessSync(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function refuseNewer(version: number, file: string): void {
  if (version <= SCHEMA_VERSION) return;
  const copy = newestPreMigrationCopy(path.dirname(file));
  const goBack =
    copy === undefined
      ? 'or restore a backup that this version made'
      : `or go back to how it was before the upgrade with "courtd restore ${copy}"`;
  throw new OperatorError(
    `${file} was written by a newer courtd (layout ${version}, this one knows up to ${SCHEMA_VERSION}): nothing was changed. ` +
      `Install that version again, ${goBack}.`,
  );
}

function prepare(db: Database.Database, file: string, create: boolean, older: boolean): void {
  const version = layoutOf(db);
  refuseNewer(version, file);
  if (version === 0) {
    if (!create) throw new OperatorError(`${file} is not set up yet: start "courtd serve" once.`);
    // In a rollback journal, so that the file carries our mark before there is a log beside it.
    db.pragma('page_size = 4096');
    // So that a prune can give the space back (prune.ts); it cannot be set once there is a table.
    db.pragma('auto_vacuum = INCREMENTAL');
    db.transaction(() => migrate(db)).exclusive();
  } else if (version < SCHEMA_VERSION && !older) {
    throw new OperatorError(
      `${file} is of an older courtd (layout ${version}, this one has ${SCHEMA_VERSION}): start "courtd serve" once, which brings it up to date.`,
    );
  }
  if (db.pragma('journal_mode = WAL', { simple: true }) !== 'wal') {
    throw new OperatorError(`${file} cannot have a write-ahead log where it is: use a local disk.`);
  }
  db.pragma(`cache_size = -${PAGE_CACHE_KIB}`);
  db.pragma('mmap_size = 0');
  db.pragma(`journal_size_limit = ${JOURNAL_SIZE_BYTES}`);
  db.pragma('foreign_keys = OFF');
  setDurable(db);
}

/** @returns the number of the last migration that the file has seen. */
export function layoutOf(db: Database.Database): number {
  return db.pragma('user_version', { simple: true }) as number;
}

/** better-sqlite3 commits without fsync in WAL mode unless this is set on every open (design 1.1). */
function setDurable(db: Database.Database): void {
  db.pragma('synchronous = FULL');
  assertDurable(db);
}

/** A new database reports FULL and then is not: call it again after the first write. */
export function assertDurable(db: Database.Database): void {
  const mode = [db.pragma('journal_mode', { simple: true }), db.pragma('synchronous', { simple: true })];
  if (mode[0] !== 'wal' || mode[1] !== 2)
    throw new OperatorError(`The store is not durable (${mode.join(', ')}): refusing to go on.`);
}

/** @returns the sentence for people that fits a foreseen failure of a data directory; else the error as it is. */
export function explain(error: unknown, directory: string): unknown {
  if (error instanceof OperatorError) return error;
  const { code: own = '', path: named = directory } = error as NodeJS.ErrnoException;
  const code = refusedWith(directory, fs.constants.W_OK) === 'EROFS' ? 'EROFS' : (sqliteCode(error) ?? own);
  const closed = refusedWith(directory, fs.constants.X_OK) === undefined ? named : directory;
  const sentence = SENTENCES.find(([pattern]) => pattern.test(code))?.[1](directory, code, closed);
  return sentence === undefined ? error : new OperatorError(sentence);
}

/** @returns the code of the system's refusal; SQLite says CANTOPEN or READONLY of all of them. */
function refusedWith(directory: string, mode: number): string | undefined {
  try {
    fs.accessSync(directory, mode);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}

type Sentence = (directory: string, code: string, closed: string) => string;

const SENTENCES: ReadonlyArray<readonly [RegExp, Sentence]> = [
  [
    /^(EACCES|EPERM|SQLITE_CANTOPEN|SQLITE_READONLY(?!_DBMOVED))/,
    (directory, _code, closed) => `${closed} is closed to this user: ${permissionHint(closed, directory)}.`,
  ],
  [/^(ENOTDIR|EEXIST)/, (directory) => `${directory} is not a directory.`],
  [/^EISDIR/, (directory) => `${databaseFile(directory)} is a directory: name another one with --data.`],
  [/^ENOENT/, (directory) => `${directory} cannot be made: name another directory with --data.`],
  [/^EROFS/, (directory) => `${directory} is on a read-only file system.`],
  // Shared memory: the file beside the database that SQLite makes at every start.
  [
    /^(ENOSPC|SQLITE_FULL|SQLITE_IOERR_SHMSIZE)/,
    (directory) => `The disk of ${directory} is full: make room and try again.`,
  ],
  [
    /^SQLITE_(CORRUPT|NOTADB)/,
    (directory) =>
      `The database in ${directory} is damaged. Nothing was changed: keep a copy of it, and restore a backup.`,
  ],
  [
    /^SQLITE_(BUSY|LOCKED|READONLY_DBMOVED)/,
    (directory) => `The database in ${directory} is locked by another program: try again when it is done.`,
  ],
  [
    /^(EIO|SQLITE_IOERR)/,
    (directory, code) => `The disk of ${directory} fails to read or write (${code}): check it.`,
  ],
];
