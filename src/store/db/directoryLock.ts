import fs from 'node:fs';
import Database from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { sqliteCode } from './sqliteErrors.ts';

/** Another process holds the lock. */
export class DirectoryInUse extends OperatorError {}

/**
 * One daemon a data directory: the newest keys are only in its memory (keys.ts).
 * @returns the lock; it is held until it is closed or the process ends.
 * @throws {DirectoryInUse} if another daemon holds it.
 */
export function lockDirectory(directory: DataDirectory): Database.Database {
  return lockFile(
    directory.file('lock'),
    `Another "courtd serve" uses ${directory}, or a "courtd restore": stop it first ("sudo systemctl stop courtd.socket courtd.service" if systemd ` +
      'runs it), or name another directory with --data.',
  );
}

/** Whether a daemon uses the directory. */
export function isServed(directory: DataDirectory): boolean {
  return isTaken(directory.file('lock'));
}

/** Milliseconds to wait for a lock: another process may be probing it (isTaken). */
const PROBE_MS = 100;

/** With a shared lock: two that look at the same time do not take each other for a daemon. */
function isTaken(file: string): boolean {
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

/**
 * An exclusive SQLite lock on a file of its own: the kernel releases it however the process ends.
 * @throws {DirectoryInUse} `message`, if another process holds the lock.
 */
function lockFile(file: string, message: string, waitMs = PROBE_MS): Database.Database {
  createPrivateIfMissing(file);
  const lock = new Database(file, { fileMustExist: true, timeout: waitMs });
  try {
    // Nothing is ever written, so no journal file appears beside it.
    lock.pragma('journal_mode = MEMORY');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (sqliteCode(error) !== 'SQLITE_BUSY') throw error;
    throw new DirectoryInUse(message);
  }
  return lock;
}
