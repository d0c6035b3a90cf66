import { setTimeout as sleep } from 'node:timers/promises';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { OperatorError } from '../base/operatorError.ts';
import type { PruneSelection } from '../store/retention/expiredEvents.ts';
import { type Pruned, type PruneProgress, PruneTally } from '../store/retention/prune.ts';
import { openStoppedStore } from '../store/stoppedStore.ts';
import { followDaemon } from './controlClient.ts';
import { PRUNE_PATH, type PruneLine } from './pruneRoute.ts';

/** For how long a command keeps a daemon from starting, and how long it then waits for one. */
const ALONE_MS = 15_000;
const GIVE_WAY_MS = 500;
/** How often, one after another, it may get no further, because the daemon ends or another command writes. */
const TRIES = 60;

/**
 * The daemon deletes, where it runs; else this process, behind the daemon's lock, which it gives up every now and then: a daemon
 * that starts meanwhile goes on with it.
 * @param failed is told why the disk has failed: then the process ends.
 * @throws {OperatorError} where it cannot be done: what has been deleted stays deleted.
 */
export async function pruneAnyhow(
  which: PruneSelection,
  data: DataDirectory,
  on: PruneProgress,
  failed: (why: string) => void,
): Promise<Pruned> {
  const tally = new PruneTally();
  for (let tries = 0; tries < TRIES; tries++) {
    const before = tally.events + tally.bytes;
    if (await pruneByDaemon(which, data, on, tally)) return tally.pruned;
    if (await pruneAlone(which, data, on, failed, tally)) return tally.pruned;
    if (tally.events + tally.bytes > before) tries = 0;
    await sleep(GIVE_WAY_MS);
  }
  throw new OperatorError(
    `Another command writes to ${data}, or the daemon does not stay up: look at its log ("journalctl -u courtd"), and prune again.`,
  );
}

/** @returns whether that is done. */
async function pruneByDaemon(
  { nowMs: _byItsOwnClock, ...request }: PruneSelection,
  data: DataDirectory,
  on: PruneProgress,
  tally: PruneTally,
): Promise<boolean> {
  let isDone = false;
  let deleted = 0;
  const answer = await followDaemon<PruneLine>(data, PRUNE_PATH, request, (line) => {
    if ('failed' in line) throw new OperatorError(line.failed);
    if ('pruned' in line) {
      isDone = true;
      tally.add(line.pruned);
    } else {
      if (line.doing === 'events') deleted = line.count;
      on(line.doing, line.count);
    }
  });
  // What it had deleted by its last word.
  if (!isDone) tally.events += deleted;
  if (answer === 'whole' && !isDone)
    throw new OperatorError('The daemon did not finish: see its log, and run this again.');
  return isDone;
}

/** @returns whether that is done: a daemon may have come first, or be waiting. */
async function pruneAlone(
  which: PruneSelection,
  data: DataDirectory,
  on: PruneProgress,
  failed: (why: string) => void,
  tally: PruneTally,
): Promise<boolean> {
  const store = await openStoppedStore(data, failed);
  if (store === undefined) return false;
  const isOver = AbortSignal.timeout(ALONE_MS);
  try {
    await store.prune(which, on, isOver, tally);
    return true;
  } catch (error) {
    if (!isOver.aborted) throw error;
    return false;
  } finally {
    await store.close();
  }
}
