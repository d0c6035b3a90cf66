import type { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';

/** How often the daemon records the time, and the difference between two records that counts as a jump of the clock. */
const CLOCK_MS = { mark: 3_600_000, jump: 86_400_000 } as const;

/** What the daemon has recorded of the clock: when it last did, and since when the clock has not jumped (0: it never has). */
interface ClockMark {
  readonly lastMs: number;
  readonly steadySinceMs: number;
}

/** @returns the mark after reading the clock again. */
export function nextMark(before: ClockMark | undefined, nowMs: number): ClockMark {
  if (before === undefined) return { lastMs: nowMs, steadySinceMs: 0 };
  const hasJumped = Math.abs(nowMs - before.lastMs) > CLOCK_MS.jump;
  return { lastMs: nowMs, steadySinceMs: hasJumped ? nowMs : before.steadySinceMs };
}

/**
 * Whether the clock jumped by more than a day, less than a day ago: retention waits then. A box that was off for a week looks the
 * same. After a day the clock is trusted, because the disk must not fill up if nobody corrects it.
 */
export function hasJustJumped(mark: ClockMark | undefined, nowMs: number): boolean {
  const { steadySinceMs } = nextMark(mark, nowMs);
  return steadySinceMs > 0 && nowMs - steadySinceMs < CLOCK_MS.jump;
}

/** A file of constant length, overwritten in place: a full disk must take it, and a database may come from another box. */
const MARK = /^(\d{15}) (\d{15})\n/;

/** @returns undefined if there is no readable mark. */
export function readMark(directory: DataDirectory): ClockMark | undefined {
  try {
    const [, last, since] = MARK.exec(directory.read('clock')) ?? [];
    return last === undefined ? undefined : { lastMs: Number(last), steadySinceMs: Number(since) };
  } catch {
    return undefined;
  }
}

/** Records the clock now and every hour. @returns a function that stops it. */
export function markClock(directory: DataDirectory): () => void {
  const mark = () => {
    const nowMs = Date.now();
    // The clock was never set: its time must not be compared with another one.
    if (nowMs < EARLIEST_RECEIVED_MS) return;
    try {
      const { lastMs, steadySinceMs } = nextMark(readMark(directory), nowMs);
      const [last, since] = [lastMs, steadySinceMs].map((ms) => String(ms).padStart(15, '0'));
      directory.overwrite('clock', `${last} ${since}\n`);
    } catch {
      // Retention uses the next mark.
    }
  };
  mark();
  return every(CLOCK_MS.mark, mark);
}
