import fs from 'node:fs';
import { WAL_MAX_BYTES, WAL_WARN_BYTES } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';
import type { Checkpointer } from './checkpointer.ts';

const WAL_CHECK_MS = 1_000;

/** What the daemon logs about the size of the WAL. */
export interface WalEvents {
  /**
   * Another program has been reading for so long that the WAL cannot be truncated. Once each time it grows
   * too large.
   */
  walLarge(bytes: number): void;
  /** The WAL is small again. */
  walSmall(bytes: number): void;
}

/**
 * Watches the size of the WAL. It can be truncated only when no reader needs its start, so a reader that
 * stays open lets it grow for as long as events arrive. Above WAL_WARN_BYTES the operator is warned; above
 * WAL_MAX_BYTES events are rejected, because the disk is for events.
 * @param walOver rejects events, or accepts them again. @returns a function that stops it.
 */
export function watchWal(
  checkpoints: Checkpointer,
  database: string,
  on: WalEvents & { walOver(isOver: boolean): void },
  { warnBytes, maxBytes } = { warnBytes: WAL_WARN_BYTES, maxBytes: WAL_MAX_BYTES },
): () => void {
  // By name, never by opening it: closing the descriptor would drop SQLite's locks.
  const size = () => fs.statSync(`${database}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  let [wasLarge, wasOver] = [false, false];
  return every(WAL_CHECK_MS, () => {
    if (size() > warnBytes) {
      // Does nothing while the reader is open; once it has closed, truncates the WAL even if no event arrives.
      if (checkpoints.isDue) checkpoints.step();
      checkpoints.truncate();
    }
    const bytes = size();
    const [isLarge, isOver] = [bytes > warnBytes, bytes > maxBytes];
    if (isLarge && !wasLarge) on.walLarge(bytes);
    if (!isLarge && wasLarge) on.walSmall(bytes);
    if (isOver !== wasOver) on.walOver(isOver);
    [wasLarge, wasOver] = [isLarge, isOver];
  });
}
