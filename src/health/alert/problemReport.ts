import { Worker } from 'node:worker_threads';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { workerFile } from '../../store/sqlite/workerThread.ts';
import type { DaemonStatus } from '../daemonStatus.ts';
import type { LastingProblem } from '../finding.ts';
import { findProblems } from '../problems.ts';
import type { ShipView } from '../shipStatus.ts';
import { withoutQuotes } from '../sourceProblems.ts';
import { type StoreView, stateOf } from '../status.ts';

/** How a box is, as its daemon finds it, for those who may not read the data directory. */
export interface ProblemReport {
  readonly state: 'ok' | 'attention' | 'failing';
  /** For how long its daemon runs, by a clock that nobody sets. */
  readonly up_s: number;
  readonly last_backup_at: string | null;
  /** Nobody is to be told now that a camera is silent, nor that it is no more. */
  readonly is_quiet_hours: boolean;
  readonly problems: readonly LastingProblem[];
}

/**
 * For those who tell others, so nothing that a camera has sent is in it. The database is read in a thread, so ingest does not wait for it. The sandbox of the daemon hides systemd, so how its nightly
 * services ended is for the caller to add.
 * @returns null where the database cannot be read now.
 */
export async function reportProblems(
  data: DataDirectory,
  daemon: DaemonStatus,
  ship: ShipView | undefined,
): Promise<ProblemReport | null> {
  const view = await readInThread(data);
  if (view === undefined) return null;
  const problems = findProblems(
    { daemon: withoutQuotes(daemon), hangs: undefined, store: { ...view, ship } },
    Date.now(),
  );
  const up_s = Math.floor(performance.now() / 1_000);
  const { is_quiet_hours } = daemon;
  const { last_backup_at } = view.store;
  return { state: stateOf(problems), up_s, last_backup_at, is_quiet_hours, problems };
}

async function readInThread(data: DataDirectory): Promise<StoreView | undefined> {
  const worker = new Worker(workerFile('storeViewWorker', import.meta.url), { workerData: data.path });
  return new Promise((resolve) => {
    worker.once('message', resolve);
    worker.once('error', () => resolve(undefined));
    worker.once('exit', () => resolve(undefined));
  });
}
