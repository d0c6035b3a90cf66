import type { DataDirectory } from '../base/dataDirectory.ts';
import type { PruneSelection } from '../store/retention/expiredEvents.ts';
import { type Pruned, type PruneProgress, PruneTally } from '../store/retention/prune.ts';
import { PRUNE_PATH } from './pruneRoute.ts';
import { workAnyhow } from './workClient.ts';

/**
 * Prunes, by the daemon or in its place.
 * @param failed is told why the disk has failed: then the process ends.
 * @throws {OperatorError} where it cannot be done: what has been deleted stays deleted.
 */
export async function pruneAnyhow(
  which: PruneSelection,
  data: DataDirectory,
  on: PruneProgress,
  failed: (why: string) => void,
): Promise<Pruned> {
  const { nowMs: _byItsOwnClock, ...request } = which;
  const tally = new PruneTally();
  let [deleted, keySteps] = [0, 0];
  const last = await workAnyhow(data, {
    path: PRUNE_PATH,
    request,
    command: 'prune',
    on: (doing: Parameters<PruneProgress>[0], count) => {
      if (doing === 'events') deleted = count;
      on(doing, count);
    },
    // What the daemon had deleted by its last word.
    cut: () => {
      tally.events += deleted;
      deleted = 0;
    },
    progress: () => tally.events + tally.bytes + keySteps,
    alone: async (store, signal) => {
      const noting: typeof on = (doing, count) => {
        if (doing === 'keys' && count > 0) keySteps++;
        on(doing, count);
      };
      await store.prune(which, noting, signal, tally);
      return undefined;
    },
    failed,
  });
  if (last !== undefined) tally.add(last);
  return tally.pruned;
}
