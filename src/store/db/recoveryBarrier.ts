import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { fsync } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { START_BARRIER_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { truncateWal } from './diskReserve.ts';

const RETRY_MS = 100;

/**
 * Checkpoints and fsyncs everything that a crash left in the page cache, before any event is called a
 * duplicate (../../ARCHITECTURE.md#recovery-barrier). Otherwise an event that had been written but not synced
 * could be acknowledged as a duplicate and then be lost in a power failure.
 * @throws {OperatorError} if another program keeps reading the WAL for START_BARRIER_MS.
 * @throws {SqliteError} and the system's errors, a full disk among them.
 */
export async function recoveryBarrier(db: Database, directory: DataDirectory): Promise<void> {
  const file = directory.file('database');
  const giveUpAt = performance.now() + START_BARRIER_MS;
  while (!isCheckpointed(db, directory)) {
    if (performance.now() > giveUpAt) {
      throw new OperatorError(
        `Another program has been reading ${file} for ${START_BARRIER_MS / 1000} s: stop it, then start courtd again.`,
      );
    }
    await sleep(RETRY_MS);
  }
  fsync(directory.file('wal'));
  fsync(directory.path);
}

/** A reader may keep the WAL from being truncated: it is enough that all its pages are in the database file. */
function isCheckpointed(db: Database, directory: DataDirectory): boolean {
  const { busy, log, checkpointed } = truncateWal(db, directory);
  return busy === 0 || (log === checkpointed && log >= 0);
}
