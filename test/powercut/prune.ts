import { courtd } from '../harness/daemon.ts';
import { type History, PRUNED_TYPE } from '../harness/history.ts';

/** Events are received this long before they are pruned. */
const OLDER_THAN = '1s';
/** No fault: its daemon was killed, or is just being started. */
const CUT_SHORT = /ended before the work was done|does not run|does not answer/;

/** Runs `courtd prune` while cameras send, again and again until they have ended, once at the least. */
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
  const which = ['--older-than', OLDER_THAN, '--type', PRUNED_TYPE, '--yes'];
  do {
    const prune = { begunAt: clock(), endedAt: Number.POSITIVE_INFINITY, events: 0 };
    prunes.push(prune);
    moments.push(prune.begunAt);
    const { status, stderr } = await courtd(['prune', '--data', data, ...which]);
    if (status === 0) prune.events = Number(/^Deleted (\d+) /m.exec(stderr)![1]);
    else if (!CUT_SHORT.test(stderr)) faults.push(`courtd prune failed: ${stderr}`);
    prune.endedAt = clock();
    moments.push(prune.endedAt);
  } while (!isOver);
}
