import fs from 'node:fs';
import path from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import {
  createPartial,
  explainWriteErrors,
  fsync,
  partialNameOf,
  publish,
  removeLeftovers,
  removePartial,
  unusedName,
} from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import { completeKeys } from '../db/completeKeys.ts';
import { lockDirectory } from '../db/directoryLock.ts';
import { enterDirectory } from '../db/enterDirectory.ts';
import { beginEpoch, readEpochs } from '../db/epochs.ts';
import { isDatabase } from '../db/newDatabase.ts';
import { explain } from '../db/openErrors.ts';
import { previousFiles } from '../db/previousDatabases.ts';
import { rewriteWal } from '../db/rewriteWal.ts';
import { migrate, overwriteDeleted } from '../db/schema.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { addErasures, readErasures } from '../write/ledger.ts';
import { backupFile, COMPANIONS, hasContent, type RestoreSource } from './backupFile.ts';
import { applyLedger } from './erase.ts';
import { type Salvaged, salvage } from './salvage.ts';
import { type Contents, verifyDatabase } from './verifyDatabase.ts';

/** Between two looks whether another program has let the database go. */
const RETRY_MS = 50;

/** The contents of the backup, and the result of the restore. */
export interface Restored extends Contents {
  /** The path of the replaced database; null if there was none. */
  readonly previousDatabase: string | null;
  /** Null if it was not asked for, or there is nothing to salvage from. */
  readonly salvaged: Salvaged | null;
  /** Whether nobody could be erased again: there was no database of the box that made the backup, or it cannot be read. */
  readonly isLedgerLost: boolean;
}

/**
 * Replaces the database with a copy of `from`, and keeps the replaced one under another name. Everything that can fail is done to
 * the copy first. SQLite never opens it, and it is not changed.
 *
 * At every moment there is a database of this name, the previous or the new one: a daemon that found none would create an empty one.
 * And the WAL of the previous one is never next to the new one, which it would corrupt.
 * @param salvages adds what can be read in the database that is replaced, and in those that were replaced before.
 * @param replacing called with the name under which the present database is kept, before it is replaced.
 * @throws {OperatorError} if the daemon is running, another program has the database open for longer than COMMAND_BUSY_MS, `from` is
 * not a valid backup, or there is no room. Nothing has been changed then.
 */
export async function restoreDatabase(
  directory: DataDirectory,
  from: string | RestoreSource,
  salvages = false,
  replacing: (name: string) => void = () => {},
): Promise<Restored> {
  const source = typeof from === 'string' ? backupFile(from) : from;
  try {
    enterDirectory(directory);
    return await makeAside(directory, async (partial) => {
      await source.copyTo(partial);
      const contents = verified(source.name, partial);
      const made = await complete(directory, partial, contents, salvages);
      // A signal that has arrived meanwhile is handled now; after this, not before the end.
      await setImmediate();
      const previousDatabase = await replace(directory, partial, replacing);
      return { ...contents, ...made, previousDatabase };
    });
  } catch (error) {
    throw explain(error, directory);
  }
}

/** However `make` ends, nothing is left under the temporary name that it is given. @throws {OperatorError} if the daemon runs. */
async function makeAside<Result>(
  directory: DataDirectory,
  make: (partial: string) => Promise<Result>,
): Promise<Result> {
  const target = directory.file('database');
  directory.make();
  const lock = lockDirectory(directory);
  const cleanUp = () => {
    removePartial(partialNameOf(target));
    // It would look like one of a database that was there.
    if (!fs.existsSync(target)) fs.rmSync(lock.name, { force: true });
  };
  const cancelCleanup = cleanUpOnExit(cleanUp);
  try {
    removeLeftovers(directory.path, (name) => name === path.basename(target));
    return await make(createPartial(target));
  } finally {
    cancelCleanup();
    cleanUp();
    lock.close();
  }
}

function verified(file: string, partial: string): Contents {
  try {
    // Checkpoints the whole WAL into the copy.
    openExclusively(partial).close();
    return verifyDatabase(partial, { indexes: true });
  } catch (error) {
    if (failureKind(error) === 'full') throw error;
    const what = error instanceof OperatorError ? error.message : 'is damaged';
    throw new OperatorError(`${file} ${what}: nothing was changed. Restore another backup.`);
  }
}

/**
 * Makes of the copy what a daemon of this version uses. It begins an epoch, because the seqs after those of the backup will be
 * assigned to other events than before. Then it adds the salvaged events, and erases again the players that this box has erased.
 */
async function complete(
  directory: DataDirectory,
  partial: string,
  { lastSeq, damage }: Contents,
  salvages: boolean,
): Promise<Pick<Restored, 'salvaged' | 'isLedgerLost'>> {
  const target = directory.file('database');
  const kept = keptOf(target);
  const db = openExclusively(partial);
  try {
    migrate(db);
    completeKeys(db);
    beginEpoch(db);
    db.exec('COMMIT');
    // The whole file is synced before it gets its name (atomicFile.ts).
    db.pragma('synchronous = OFF');
    const unapplied = (kept?.erasures ?? []).map((one) => ({ ...one, finishedMs: null }));
    db.transaction(() => addErasures(db, unapplied)).immediate();
    // A damaged event is read again, too: the row of a sound one replaces it.
    const copy = { lastSeq: damage === undefined ? lastSeq : 0, epochs: readEpochs(db) };
    const files = [...replacedBefore(directory), ...(hasContent(target) ? [target] : [])];
    const salvaged = salvages && files.length > 0 ? await salvage(db, copy, files) : null;
    await applyLedger(db);
    return {
      salvaged,
      isLedgerLost: !kept?.epochs.some(({ name }) => copy.epochs.some((one) => one.name === name)),
    };
  } finally {
    db.close();
  }
}

/** @returns the part of the replaced database that is kept, if any: a backup does not know the players who were erased after it. */
function keptOf(target: string) {
  let db: Database.Database | undefined;
  try {
    db = new Database(target, { readonly: true, fileMustExist: true, timeout: COMMAND_BUSY_MS });
    return { erasures: readErasures(db), epochs: readEpochs(db) };
  } catch {
    return undefined;
  } finally {
    db?.close();
  }
}

/** @returns the databases that earlier restores have replaced, the oldest first. */
function replacedBefore(directory: DataDirectory): string[] {
  return previousFiles(directory)
    .filter(({ name, database }) => name === database && name.includes('.replaced-'))
    .sort((a, b) => a.ms - b.ms)
    .map(({ name }) => directory.at(name));
}

/** @returns the path of the preserved database; null if there was none. */
async function replace(
  directory: DataDirectory,
  partial: string,
  replacing: (name: string) => void,
): Promise<string | null> {
  const target = directory.file('database');
  // One that cannot be read is preserved as it is, with its WAL.
  const isOurs = hasContent(target) && isDatabase(target);
  const exclusive = isOurs ? await tryOpenExclusively(target) : undefined;
  try {
    const parts = ['', ...COMPANIONS].filter((part) => hasContent(target + part));
    const preserved = parts.length === 0 ? null : unusedName((time) => `${target}.replaced-${time}`);
    if (preserved !== null) replacing(preserved);
    fsync(partial);
    // Hard links: the first name stays until it is replaced.
    for (const part of parts)
      explainWriteErrors(preserved + part, () => fs.linkSync(target + part, preserved + part));
    fsync(directory.path);
    for (const part of [...COMPANIONS, '-shm']) fs.rmSync(target + part, { force: true });
    fsync(directory.path);
    publish(partial, target);
    return preserved;
  } finally {
    exclusive?.close();
  }
}

/**
 * Waits for a process that has the database open for a moment, as `tail --follow` has for new events. SQLite's own timeout does
 * not: no busy handler is asked when a connection leaves WAL mode (pager.c, pagerExclusiveLock).
 * @returns undefined if the database cannot be read.
 * @throws if another program keeps it open, which would continue with the replaced one; or the system's error.
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
 * that opened the database meanwhile would write to it, and leave a WAL next to its successor.
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
