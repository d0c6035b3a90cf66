import fs from 'node:fs';
import Database from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { sqliteCode } from './sqliteErrors.ts';

/** Milliseconds to wait for the lock: another process may be looking whether it is held. */
const PROBE_MS = 100;

/**
 * One daemon a data directory: the newest keys are only in its memory (keys.ts). An exclusive SQLite lock on a file of its own: the
 * kernel releases it however the process ends.
 * @returns the lock; it is held until it is closed or the process ends.
 * @throws {OperatorError} if another daemon holds it.
 */
export function lockDirectory(directory: DataDirectory): Database.Database {
  const file = directory.file('lock');
  createPrivateIfMissing(file);
  const lock = new Database(file, { fileMustExist: true, timeout: PROBE_MS });
  try {
    // Nothing is ever written, so no journal file appears next to it.
    lock.pragma('journal_mode = MEMORY');
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if (sqliteCode(error) !== 'SQLITE_BUSY') throw error;
    throw new OperatorError(
      `"courtd serve" or "courtd restore" is using ${directory}. Stop it first ("sudo systemctl stop courtd.socket courtd.service" if systemd ` +
        'runs it), or name another directory with --data.',
    );
  }
}

/** Whether a daemon uses the directory. With a shared lock: two that look at the same time do not take each other for a daemon. */
export function isServed(directory: DataDirectory): boolean {
  const file = directory.file('lock');
  if (!fs.existsSync(file)) return false;
  const lock = new Database(file, { fileMustExist: true, timeout: 0 });
  try {
    lock.pragma('schema_version');
    return false;
  } catch (error) {
    if (sqliteCode(error) === 'SQLITE_BUSY') return true;
    throw error;
  } finally {
    lock.close();
  }
}
