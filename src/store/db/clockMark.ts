import type { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';

const MARK_MS = 3_600_000;
/** The difference between the clock and its last mark that counts as a jump. */
export const JUMP_MS = 86_400_000;

/**
 * @returns when the clock of the box last jumped by more than a day, as far as the marks of the daemon show it; 0: never. A box that was
 * off for a week looks the same.
 */
export function lastJumpMs(directory: DataDirectory, nowMs: number): number {
  const [lastMs = nowMs, jumpedMs = 0] = readMark(directory);
  return Math.abs(nowMs - lastMs) > JUMP_MS ? nowMs : jumpedMs;
}

/** @returns when the clock was last marked, and when it had jumped by then; nothing if there is no mark. */
function readMark(directory: DataDirectory): number[] {
  try {
    return directory.read('clock').split(' ').map(Number);
  } catch {
    return [];
  }
}

/** Records the clock now and every hour. @returns a function that stops it. */
export function markClock(directory: DataDirectory): () => void {
  const mark = () => {
    const nowMs = Date.now();
    // The clock was never set: its time must not be compared with another one.
    if (nowMs < EARLIEST_RECEIVED_MS) return;
    try {
      // Of constant length: a full disk must take it.
      const times = [nowMs, lastJumpMs(directory, nowMs)].map((ms) => String(ms).padStart(15, '0'));
      directory.overwrite('clock', `${times.join(' ')} \n`);
    } catch {
      // Retention uses the next mark.
    }
  };
  mark();
  return every(MARK_MS, mark);
}
