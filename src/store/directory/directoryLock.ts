import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { OperatorError } from '../../base/operatorError.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import { sqliteCode } from '../sqlite/errors.ts';

/**
 * One daemon a data directory: the keys in play are in its memory (dedupIndex.ts).
 * @returns the lock; it lasts until it is closed or the process ends.
 * @throws {StoreError} where another daemon has it.
 */
export function lockDirectory(directory: string): Database.Database {
  return lockFile(
    path.join(directory, 'courtd.lock'),
    `Another "courtd serve" uses ${directory}: stop it first ("sudo systemctl stop courtd.socket courtd.service" where systemd ` +
      'runs it), or name another directory with --data.',
  );
}

/** One prune at a time: each sweeps after what it has deleted itself (prune.ts). @see lockDirectory */
export function lockPrune(directory: string): Database.Database {
  return lockFile(
    pruneFile(directory),
    `Another "courtd prune" is running on ${directory}: wait until it ends.`,
    PRUNE_LOCK_WAIT_MS,
  );
}

/** For the daemon, while the disk is full. */
export function isPruning(directory: string): boolean {
  if (!fs.existsSync(pruneFile(directory))) return false;
  try {
    lockFile(pruneFile(directory), '').close();
    return false;
  } catch (error) {
    if (error instanceof OperatorError) return true;
    throw error;
  }
}

const pruneFile = (directory: string) => path.join(directory, 'courtd.prune');
/** The daemon may just be looking whether it is taken. */
const PRUNE_LOCK_WAIT_MS = 100;

/** SQLite's own lock on a file of its own does it: the kernel lets go of it however the process ends. */
function lockFile(file: string, message: string, waitMs = 0): Database.Database {
  createPrivateIfMissing(file);
  const lock = new Database(file, { fileMustExist: true, timeout: waitMs });
  try {
    // Nothing is ever written: no journal file beside it.
    lock.pragma('journal_mode = MEMORY');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (sqliteCode(error) !== 'SQLITE_BUSY') throw error;
    throw new OperatorError(message);
  }
  return lock;
}
