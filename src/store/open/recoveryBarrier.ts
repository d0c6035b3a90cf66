import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { fsync } from '../../base/atomicFile.ts';
import { START_BARRIER_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { databaseFile } from '../directory/dataDirectory.ts';
import { truncateWal } from '../directory/diskReserve.ts';

const RETRY_MS = 100;

/**
 * The barrier at start (design 5): what a crash left in the page cache is put on the disk before anything is called
 * a duplicate. Without it, an event that was written but never synced could be acknowledged as a duplicate and then
 * be lost with the power.
 * @throws {StoreError} where another program holds the log for 30 s.
 */
export async function recoveryBarrier(db: Database, directory: string): Promise<void> {
  const file = databaseFile(directory);
  const giveUpAt = performance.now() + START_BARRIER_MS;
  while (!isCheckpointed(db, directory)) {
    if (performance.now() > giveUpAt) {
      throw new OperatorError(
        `Another program has been reading ${file} for ${START_BARRIER_MS / 1000} s: stop it, then start courtd again.`,
      );
    }
    await sleep(RETRY_MS);
  }
  fsync(`${file}-wal`);
  fsync(directory);
}

/** A reader may keep the log from being cut off: that all of it is in the file is enough. */
function isCheckpointed(db: Database, directory: string): boolean {
  const { busy, log, checkpointed } = truncateWal(db, directory);
  return busy === 0 || (log === checkpointed && log >= 0);
}
