import fs from 'node:fs';
import Database from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { isServed } from './directoryLock.ts';
import { withReserve } from './diskReserve.ts';
import { enterDirectory } from './enterDirectory.ts';
import { isDatabase, lacksDatabase, makeFirst, noDatabase } from './newDatabase.ts';
import { explain, unsound } from './openErrors.ts';
import { preMigrationCopyOf } from './previousDatabases.ts';
import { rewriteWal } from './rewriteWal.ts';
import { overwriteDeleted, SCHEMA_VERSION } from './schema.ts';
import { closeAfter } from './sqliteErrors.ts';
import { startFault } from './startFault.ts';

/** Page cache of the database, in KiB: 16 MB and 64 MB were no faster (measured). */
const PAGE_CACHE_KIB = 8_000;
/** SQLite truncates the WAL to this size when it starts it again after a checkpoint. */
const WAL_SIZE_LIMIT_BYTES = 64 * 1024 ** 2;

/** What a command may do to a database that it opens; by default it must exist and be of this layout. */
export interface OpenOptions {
  /** Create the directory and the database if there is none: only `serve` and `token rotate` do. */
  readonly create?: boolean;
  /** First compare its tables with the layout: only `serve` and `check` do. Other commands read what can be read. */
  readonly check?: boolean;
  /** Open a database of an older layout too: only `serve` does, and then upgrades it (upgradeDatabase.ts). */
  readonly acceptOlder?: boolean;
  /** The caller holds the lock of the directory: its previous holder may have written, and its sync may have failed. */
  readonly isLocked?: boolean;
}

/**
 * Opens the database of a data directory with the pragmas that make a commit durable.
 * @throws {OperatorError} if the file is missing, foreign, newer, damaged or not accessible.
 */
export function openDatabase(directory: DataDirectory, options: OpenOptions = {}): Database.Database {
  try {
    enterDatabase(directory, options);
    return withReserve(directory, () => {
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
 * The first checks of `openDatabase`, for a caller that makes a file next to the database before that. It reads the header itself,
 * because SQLite creates and changes files beside a foreign database.
 * @throws {OperatorError} and the system's errors, if the directory or its database is not courtd's, or damaged: nothing has been
 * changed.
 */
export function enterDatabase(directory: DataDirectory, { create, check }: OpenOptions): void {
  enterDirectory(directory);
  if (lacksDatabase(directory)) {
    if (!create) throw noDatabase(directory);
    makeFirst(directory);
  }
  const file = directory.file('database');
  if (!isDatabase(file))
    throw new OperatorError(
      `${file} is not a courtd database: nothing was changed. Name another directory with --data.`,
    );
  if (check) withReserve(directory, () => refuseDamaged(file));
}

/**
 * If there is a WAL, over a read-only connection: closing one that can write would checkpoint the WAL into the
 * damaged file.
 */
function refuseDamaged(file: string): void {
  const readonly = (fs.statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const db = new Database(file, { readonly, fileMustExist: true, timeout: COMMAND_BUSY_MS });
  try {
    refuseNewer(layoutOf(db), file);
    const fault = startFault(db);
    if (fault !== undefined) throw unsound(DataDirectory.of(file), fault);
  } finally {
    db.close();
  }
}

/** @throws {OperatorError} if a newer version has written the database. */
function refuseNewer(version: number, file: string): void {
  if (version <= SCHEMA_VERSION) return;
  const copy = preMigrationCopyOf(file, SCHEMA_VERSION);
  const alternative = fs.existsSync(copy)
    ? `return to its state before the upgrade with "courtd restore ${copy}"`
    : 'restore a backup that this version made';
  throw new OperatorError(
    `${file} was written by a newer courtd (layout ${version}, this version supports up to ${SCHEMA_VERSION}): nothing was changed. ` +
      `Install that version again, or ${alternative}.`,
  );
}

function prepare(
  db: Database.Database,
  directory: DataDirectory,
  { create = false, acceptOlder = false, isLocked = false }: OpenOptions,
): void {
  const file = directory.file('database');
  // A daemon does so once it has its lock.
  rewriteWal(db, () => !isLocked && isServed(directory));
  const version = layoutOf(db);
  refuseNewer(version, file);
  if (version < SCHEMA_VERSION && !acceptOlder)
    throw new OperatorError(
      `${file} was written by an older courtd (layout ${version}, this version has ${SCHEMA_VERSION}). Start "courtd serve" once, which upgrades it.`,
    );
  // A copy or a backup that is only read keeps its rollback journal: it may be on any file system.
  if ((create || acceptOlder) && db.pragma('journal_mode = WAL', { simple: true }) !== 'wal')
    throw new OperatorError(
      `${file} is on a file system that does not support a write-ahead log. Use a local disk.`,
    );
  db.pragma(`cache_size = -${PAGE_CACHE_KIB}`);
  db.pragma('mmap_size = 0');
  overwriteDeleted(db);
  db.pragma(`journal_size_limit = ${WAL_SIZE_LIMIT_BYTES}`);
  db.pragma('foreign_keys = OFF');
  // In WAL mode better-sqlite3 commits without fsync unless this is set on every connection.
  db.pragma('synchronous = FULL');
}

/** @returns the layout version of the file: how many migrations have been applied to it (schema.ts). */
export function layoutOf(db: Database.Database): number {
  return db.pragma('user_version', { simple: true }) as number;
}
