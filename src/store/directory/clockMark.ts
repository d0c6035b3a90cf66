import type { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';

/** How often the daemon records the time, and the difference between two records that counts as a jump of the clock. */
const CLOCK_MS = { mark: 3_600_000, jump: 86_400_000 } as const;

/**
 * What the daemon has recorded about the clock of the box. Milliseconds since 1970-01-01T00:00:00Z by that
 * clock.
 */
interface ClockMark {
  /** The time of the last record. */
  readonly lastMs: number;
  /** The time since which the clock has not jumped; 0 if it never has. */
  readonly steadySinceMs: number;
}

/** @returns the mark after reading the clock again. */
export function nextMark(before: ClockMark | undefined, nowMs: number): ClockMark {
  if (before === undefined) return { lastMs: nowMs, steadySinceMs: 0 };
  const hasJumped = Math.abs(nowMs - before.lastMs) > CLOCK_MS.jump;
  return { lastMs: nowMs, steadySinceMs: hasJumped ? nowMs : before.steadySinceMs };
}

/**
 * Whether the clock jumped so recently that nothing should be deleted by it: by more than a day, either way,
 * between two hourly marks or since the last one, and less than a day ago. A box that was off for a week
 * looks the same: retention is then a day late, which does no harm. After a day the clock is trusted: by then
 * somebody has seen the box, and the disk must not fill up because a clock is never corrected.
 */
export function hasJustJumped(mark: ClockMark | undefined, nowMs: number): boolean {
  const { steadySinceMs } = nextMark(mark, nowMs);
  return steadySinceMs > 0 && nowMs - steadySinceMs < CLOCK_MS.jump;
}

/**
 * The mark is a file of its own, of constant length and overwritten in place. It must be writable on a full disk, where
 * retention is needed most; and it describes the box, while a database may come from another one (a restore).
 */
const MARK = /^(\d{15}) (\d{15})\n/;

/** @returns undefined where there is no readable mark. */
export function readMark(directory: DataDirectory): ClockMark | undefined {
  try {
    const [, last, since] = MARK.exec(directory.read('clock')) ?? [];
    return last === undefined ? undefined : { lastMs: Number(last), steadySinceMs: Number(since) };
  } catch {
    return undefined;
  }
}

function writeMark(directory: DataDirectory, { lastMs, steadySinceMs }: ClockMark): void {
  const [last, since] = [lastMs, steadySinceMs].map((ms) => String(ms).padStart(15, '0'));
  directory.overwrite('clock', `${last} ${since}\n`);
}

/**
 * Records the clock now, and every hour from now on.
 * @returns a function that stops it.
 */
export function markClock(directory: DataDirectory): () => void {
  const mark = () => {
    const nowMs = Date.now();
    // The clock was never set: its time must not be compared with another one.
    if (nowMs < EARLIEST_RECEIVED_MS) return;
    try {
      writeMark(directory, nextMark(readMark(directory), nowMs));
    } catch {
      // Retention uses the next mark.
    }
  };
  mark();
  return every(CLOCK_MS.mark, mark);
}
