import { run } from './daemon.ts';
import { type History, PRUNED_TYPE } from './history.ts';

/** Events are received this long before they are pruned. */
const OLDER_THAN = '1s';

/** Runs `courtd prune` beside the senders, again and again until they have ended, once at the least. */
export async function pruneUntil(
  over: Promise<unknown>,
  data: string,
  { prunes, faults, moments }: History,
  clock: () => number,
): Promise<void> {
  let isOver = false;
  void over.finally(() => {
    isOver = true;
  });
  const agreed = (await run('prune', '--help')).includes('--yes') ? ['--yes'] : [];
  const which = ['--older-than', OLDER_THAN, '--type', PRUNED_TYPE, ...agreed];
  do {
    const prune = { begunAt: clock(), endedAt: Number.POSITIVE_INFINITY, events: 0 };
    prunes.push(prune);
    moments.push(prune.begunAt);
    try {
      prune.events = JSON.parse(await run('prune', '--data', data, ...which, '--json')).events;
    } catch (error) {
      faults.push(`courtd prune failed: ${error}`);
    }
    prune.endedAt = clock();
    moments.push(prune.endedAt);
  } while (!isOver);
}
