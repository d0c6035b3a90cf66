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
  createPrivateIfMissing(directory.file('lock'));
  // Nothing is ever written, so no journal file appears next to it.
  const lock = tried(directory, PROBE_MS, 'PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  if (lock !== undefined) return lock;
  throw new OperatorError(
    `"courtd serve" or "courtd restore" is using ${directory}. Stop it first ("sudo systemctl stop courtd.socket courtd.service" if systemd ` +
      'runs it), or name another directory with --data.',
  );
}

/** Whether a daemon uses the directory. With a shared lock: two that look at the same time do not take each other for a daemon. */
export function isServed(directory: DataDirectory): boolean {
  if (!fs.existsSync(directory.file('lock'))) return false;
  const lock = tried(directory, 0, 'PRAGMA schema_version');
  lock?.close();
  return lock === undefined;
}

/** @returns a connection to the lock, on which SQL has run that takes it; undefined if another process holds it. */
function tried(directory: DataDirectory, timeout: number, sql: string): Database.Database | undefined {
  const lock = new Database(directory.file('lock'), { fileMustExist: true, timeout });
  try {
    return lock.exec(sql);
  } catch (error) {
    lock.close();
    if (sqliteCode(error) === 'SQLITE_BUSY') return undefined;
    throw error;
  }
}
