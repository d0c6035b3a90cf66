import type { Logger } from 'pino';
import { logProblem } from './finding.ts';
import { problem } from './problems.ts';
import type { StoreFacts } from './storeFacts.ts';

/** Hysteresis: the part of the floor that must be free above it, before the log says that there is room again. */
const SLACK = 0.05;

/**
 * Watches the disk for the log, which has one line when it is filling up, long before it is full, and one when there is room again.
 * @param floorBytes free space below which it warns; 0 turns the warning off.
 * @returns what looks once. It never throws: if the database or its disk cannot be read now, others report that.
 */
export function diskSpaceMonitor(
  floorBytes: number,
  facts: () => Pick<StoreFacts, 'store' | 'room'>,
  log: Logger,
): () => void {
  let isLow = false;
  return () => {
    try {
      const { store, room } = facts();
      const [free, wasLow] = [store.free_bytes, isLow];
      isLow = free < floorBytes * (wasLow ? 1 + SLACK : 1);
      if (isLow && !wasLow) logProblem(log, problem('disk_low', free, floorBytes, room));
      else if (wasLow && !isLow) log.info('there is room on the disk again');
    } catch {
      // The next look tries again.
    }
  };
}
