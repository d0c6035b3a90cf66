import type { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';

/** How often the daemon records the time, and the difference between two records that counts as a jump of the clock. */
const CLOCK_MS = { mark: 3_600_000, jump: 86_400_000 } as const;

/** What the daemon has recorded of the clock: when it last did, when the clock has jumped (0: never), and its time before that. */
interface ClockMark {
  readonly lastMs: number;
  readonly jumpedMs: number;
  readonly beforeMs: number;
}

/** @returns the mark after reading the clock again. */
export function nextMark(mark: ClockMark | undefined, nowMs: number): ClockMark {
  if (mark === undefined) return { lastMs: nowMs, jumpedMs: 0, beforeMs: 0 };
  const hasJumped = Math.abs(nowMs - mark.lastMs) > CLOCK_MS.jump;
  return hasJumped ? { lastMs: nowMs, jumpedMs: nowMs, beforeMs: mark.lastMs } : { ...mark, lastMs: nowMs };
}

/**
 * @returns the time by which retention counts ages: for a day after a jump by more than a day no later than the clock would say without
 * it. A box that was off for a week looks the same, and deletes what was due when it went off. After a day the clock is trusted, because
 * the disk must not fill up if nobody corrects it.
 */
export function trustedMs(mark: ClockMark | undefined, nowMs: number): number {
  const { jumpedMs, beforeMs } = nextMark(mark, nowMs);
  const agoMs = nowMs - jumpedMs;
  return agoMs < CLOCK_MS.jump ? Math.min(nowMs, beforeMs + agoMs) : nowMs;
}

/** A file of constant length, overwritten in place: a full disk must take it, and a database may come from another box. */
const MARK = /^(\d{15}) (\d{15}) (\d{15})\n/;

/** @returns undefined if there is no readable mark. */
export function readMark(directory: DataDirectory): ClockMark | undefined {
  try {
    const [, last, jumped, before] = MARK.exec(directory.read('clock')) ?? [];
    if (last === undefined) return undefined;
    return { lastMs: Number(last), jumpedMs: Number(jumped), beforeMs: Number(before) };
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
      const { lastMs, jumpedMs, beforeMs } = nextMark(readMark(directory), nowMs);
      const numbers = [lastMs, jumpedMs, beforeMs].map((ms) => String(ms).padStart(15, '0'));
      directory.overwrite('clock', `${numbers.join(' ')}\n`);
    } catch {
      // Retention uses the next mark.
    }
  };
  mark();
  return every(CLOCK_MS.mark, mark);
}
