import fs from 'node:fs';
import path from 'node:path';
import { removeLeftovers } from '../../base/atomicFile.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { copyDatabase } from '../backup/onlineBackup.ts';
import { SCHEMA_VERSION } from '../layout/schema.ts';
import { preMigrationCopyOf } from '../open/previousDatabases.ts';
import { runWorker, workerFile } from '../sqlite/workerThread.ts';

/** Disk space that an upgrade needs, in percent of the database: the copy, the write-ahead log (34 for small events), and growth (18). */
const UPGRADE_ROOM_PERCENT = 170;
/** How often the progress of an upgrade is logged. */
const PROGRESS_LOG_MS = 5_000;

/** Progress of an upgrade. */
export interface UpgradeStep {
  readonly doing: 'copying' | 'changing' | 'done';
  readonly from: number;
  readonly to: number;
  /** The path of the copy of the database as it was. */
  readonly copy: string;
  /** Size of the copy so far. */
  readonly bytes: number;
  /** Since the upgrade began. */
  readonly seconds: number;
}

/** What the daemon logs about an upgrade. */
export interface UpgradeEvents {
  /** At each stage, and every few seconds within one. */
  upgrading(step: UpgradeStep): void;
}

/**
 * Upgrades a database of an older layout in one transaction, after copying it: without the copy nothing is
 * changed. Runs in worker threads, so that the process can report to systemd that it is alive.
 * @param from its layout. No other connection of this process may be open to it, and no other program may
 * write to it.
 * @throws {OperatorError} where there is no room for the copy, or it fails.
 * @throws {SqliteError} where a migration fails.
 */
export async function upgradeDatabase(file: string, from: number, on: UpgradeEvents): Promise<void> {
  const startedAt = performance.now();
  const copy = preMigrationCopyOf(file, from);
  let [doing, bytes, reportedAt]: [UpgradeStep['doing'], number, number] = ['copying', 0, 0];
  const report = () => {
    reportedAt = performance.now();
    const seconds = Math.round(performance.now() - startedAt) / 1000;
    on.upgrading({ doing, from, to: SCHEMA_VERSION, copy, bytes, seconds });
  };
  report();
  removeLeftovers(path.dirname(file), (name) => name === path.basename(copy));
  refuseWithoutSpace(file);
  try {
    // Its last progress may be from before the last of it was written.
    ({ bytes } = await copyDatabase(file, copy, (soFar) => {
      bytes = soFar;
      if (performance.now() - reportedAt > PROGRESS_LOG_MS) report();
    }));
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    throw new OperatorError(
      `${file} is upgraded only after it has been copied, and the copy failed. ${error.message} Nothing was changed.`,
    );
  }
  doing = 'changing';
  report();
  const timer = setInterval(report, PROGRESS_LOG_MS);
  try {
    const failure = await runWorker(workerFile('migrateWorker', import.meta.url), file);
    if (failure !== undefined) throw failure;
  } finally {
    clearInterval(timer);
  }
  doing = 'done';
  report();
}

/**
 * Checked beforehand rather than tried: systemd restarts the daemon every second, and each attempt would fill
 * the disk and wear it.
 */
function refuseWithoutSpace(file: string): void {
  const { bavail, bsize } = fs.statfsSync(path.dirname(file));
  const needed = (fs.statSync(file).size * UPGRADE_ROOM_PERCENT) / 100;
  const [neededMib, freeMib] = [needed, bavail * bsize].map((bytes) => bytes / 1024 ** 2);
  if (freeMib! >= neededMib!) return;
  throw new OperatorError(
    `${file} is upgraded only after it has been copied, which needs ${Math.ceil(neededMib!)} MiB, and ` +
      `${Math.floor(freeMib!)} MiB are free: free some space. Nothing was changed.`,
  );
}
