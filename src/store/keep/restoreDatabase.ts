import fs from 'node:fs';
import path from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import {
  createPartial,
  fsync,
  partialNameOf,
  publish,
  removeLeftovers,
  removePartial,
  unusedName,
} from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { BUSY_RETRY_MS, COMMAND_BUSY_MS } from '../../base/limits.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import { lockDirectory } from '../db/directoryLock.ts';
import { beginEpoch, readEpochs } from '../db/epochs.ts';
import { enterDirectory, isDatabase } from '../db/openDatabase.ts';
import { explain } from '../db/openErrors.ts';
import { previousFiles } from '../db/previousDatabases.ts';
import { rewriteWal } from '../db/rewriteWal.ts';
import { OVERWRITE_DELETED } from '../db/schema.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { addErasures, readErasures } from '../write/ledger.ts';
import { backupFile, COMPANIONS, hasContent, type RestoreSource } from './backupFile.ts';
import { completeKeys } from './copyRows.ts';
import { applyLedger } from './erase.ts';
import { type Salvaged, salvage } from './salvage.ts';
import { type Verified, verifyDatabase } from './verifyDatabase.ts';

/** What is restored, before anything is salvaged. */
export interface Restored extends Verified {
  /** Sessions with events. */
  readonly sessions: number;
  /** When the newest event was received, milliseconds since 1970-01-01T00:00:00Z; null without events. */
  readonly newestMs: number | null;
  /** Null if it was not asked for, or there is nothing to salvage from. */
  readonly salvaged: Salvaged | null;
  /** Whether there is a database to salvage from, and it was not asked for. */
  readonly canSalvage: boolean;
  /** Whether nobody could be erased again: there was no database of the box that made the backup, or it cannot be read. */
  readonly isLedgerLost: boolean;
}

/**
 * Replaces the database with a copy of `from`, and keeps the replaced one under another name. Everything that can fail is done to
 * the copy first. SQLite never opens it, and it is not changed.
 *
 * At every moment there is a database of this name, and the WAL of the previous one is never next to the new one, which it would corrupt.
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
  const target = directory.file('database');
  const partial = partialNameOf(target);
  let lock: Database.Database | undefined;
  const cancelCleanup = cleanUpOnExit(() => removePartial(partial));
  try {
    enterDirectory(directory);
    directory.make();
    // Where no database ever was there is no daemon yet, and a lock alone would look like there was one (openDatabase.ts).
    if ([target, directory.file('lock')].some(fs.existsSync)) lock = lockDirectory(directory);
    removeLeftovers(directory.path, (name) => name === path.basename(target));
    createPartial(target);
    await source.copyTo(partial);
    const restored = await complete(directory, source.name, partial, salvages);
    // A signal that has arrived meanwhile is handled now; after this, not before the end.
    await setImmediate();
    lock ??= lockDirectory(directory);
    await replace(target, partial, replacing);
    return restored;
  } catch (error) {
    throw explain(error, directory);
  } finally {
    cancelCleanup();
    removePartial(partial);
    lock?.close();
  }
}

/**
 * Verifies the copy, and makes of it what a daemon uses. An epoch begins, because the seqs after those of the backup will be assigned to
 * other events than before. Salvaged events are added last, and the players that this box has erased are erased again.
 */
async function complete(directory: DataDirectory, name: string, partial: string, salvages: boolean) {
  const target = directory.file('database');
  const kept = keptOf(target);
  const verified = verifyDatabase(partial, name, 'nothing was changed. Restore another backup.');
  const db = new Database(partial, { fileMustExist: true });
  try {
    // The whole file is synced before it gets its name (atomicFile.ts).
    db.pragma('synchronous = OFF');
    db.pragma(OVERWRITE_DELETED);
    db.transaction(() => {
      completeKeys(db);
      beginEpoch(db);
      addErasures(db, kept.erasures);
    }).immediate();
    const contents = db.prepare<[], Restored>(`
      SELECT count(*) AS events, count(DISTINCT session) AS sessions,
             (SELECT received_ms FROM event ORDER BY seq DESC LIMIT 1) AS newestMs FROM event`);
    const counts = contents.get()!;
    const epochs = readEpochs(db);
    const databases = previousFiles(directory).filter(({ name, database }) => name === database);
    // Their names have the time, so the oldest is the first.
    const files = [...databases.map(({ name }) => directory.at(name)).sort(), target].filter(hasContent);
    // A damaged event is read again, too: the row of a sound one replaces it.
    const shared = verified.damage ? [] : epochs;
    const salvaged = files.length > 0 && salvages ? await salvage(db, shared, files) : null;
    await applyLedger(db);
    const isLedgerLost = !kept.epochs.some(({ name }) => epochs.some((one) => one.name === name));
    return { ...verified, ...counts, salvaged, canSalvage: files.length > 0 && !salvages, isLedgerLost };
  } finally {
    db.close();
  }
}

/** @returns what is kept of the replaced database, if it can be read: a backup does not know the players who were erased after it. */
function keptOf(target: string) {
  let db: Database.Database | undefined;
  try {
    db = new Database(target, { readonly: true, fileMustExist: true, timeout: COMMAND_BUSY_MS });
    const erasures = readErasures(db).map((erasure) => ({ ...erasure, finishedMs: null }));
    return { erasures, epochs: readEpochs(db) };
  } catch {
    return { erasures: [], epochs: [] };
  } finally {
    db?.close();
  }
}

async function replace(target: string, partial: string, replacing: (name: string) => void): Promise<void> {
  // One that cannot be read is preserved as it is, with its WAL.
  const exclusive = await openExclusively(target);
  try {
    const parts = ['', ...COMPANIONS].filter((part) => hasContent(target + part));
    const preserved = unusedName((time) => `${target}.replaced-${time}`);
    if (parts.length > 0) replacing(preserved);
    fsync(partial);
    // Hard links: the first name stays until it is replaced.
    for (const part of parts) fs.linkSync(target + part, preserved + part);
    fsync(path.dirname(target));
    for (const part of [...COMPANIONS, '-shm']) fs.rmSync(target + part, { force: true });
    fsync(path.dirname(target));
    publish(partial, target);
  } finally {
    exclusive?.close();
  }
}

/**
 * Checkpoints the whole WAL into the database, and keeps other programs out until the connection is closed: one that opened it meanwhile
 * would leave a WAL next to its successor. No other descriptor of the database may be closed here: that would drop the locks.
 *
 * Waits for a process that has the database open for a moment, as `tail --follow` has for new events. SQLite's own timeout does
 * not: no busy handler is asked when a connection leaves WAL mode (pager.c, pagerExclusiveLock).
 * @returns undefined if there is none, or it cannot be read.
 * @throws if another program keeps it open, which would continue with the replaced one; or the system's error.
 */
async function openExclusively(file: string): Promise<Database.Database | undefined> {
  if (!hasContent(file) || !isDatabase(file)) return undefined;
  for (const giveUpAt = performance.now() + COMMAND_BUSY_MS; ; await sleep(BUSY_RETRY_MS)) {
    let db: Database.Database | undefined;
    try {
      db = new Database(file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
      rewriteWal(db);
      db.pragma('journal_mode = DELETE');
      db.exec('BEGIN EXCLUSIVE');
      if (db.pragma('journal_mode', { simple: true }) !== 'wal') return db;
      // Another program was faster, and the database has a WAL again.
      throw new Database.SqliteError('opened by another program', 'SQLITE_BUSY');
    } catch (error) {
      db?.close();
      const kind = failureKind(error);
      if (kind === 'damaged' || kind === 'fatal') return undefined;
      if (kind !== 'busy' || performance.now() >= giveUpAt) throw error;
    }
  }
}
