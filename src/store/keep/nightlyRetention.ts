import type { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';
import type { PruneSelection } from './expiredEvents.ts';

/** How often the time is looked at. The first look is the run after a start. */
const LOOK_MS = 30_000;
const RETRY_MS = 3_600_000;
/** Local time: the backup of the night begins before 04:00 (courtd-backup.timer). */
const NIGHT_HOUR = 4;

/** How often the clock is marked. */
const MARK_MS = 3_600_000;
/** The difference between the clock and its last mark that counts as a jump. */
const JUMP_MS = 86_400_000;

/** How long events, and player positions, are kept after their receipt, in seconds; 0: for ever. */
export interface Keep {
  readonly data: DataDirectory;
  readonly keep: number;
  readonly keepPositions: number;
}

/**
 * Deletes events that are older than `--keep` and `--keep-positions`, after a start and once a night.
 * @param warn is called with why nothing more is deleted for now.
 * @returns `look`, which runs the prunes that are due by a local time, and what stops it.
 */
export function retainNightly(
  { data, keep, keepPositions }: Keep,
  prune: (selection: PruneSelection, signal: AbortSignal) => Promise<void>,
  warn: (reason: string) => void,
): { readonly look: (now: Date) => Promise<void>; readonly stop: () => void } {
  const closing = new AbortController();
  const ages = [{ seconds: keepPositions, type: 'PLAYER_POSITION' }, { seconds: keep }];
  const due = ages.filter(({ seconds }) => seconds > 0);
  const run = async (clockMs: number) => {
    const nowMs = trustedMs(data, clockMs);
    for (const { seconds, ...type } of due)
      await prune({ beforeMs: nowMs - 1_000 * seconds, nowMs, ...type }, closing.signal);
  };
  /** Milliseconds of the monotonic clock. */
  let dueAt = due.length === 0 ? Number.POSITIVE_INFINITY : 0;
  const look = async (now: Date) => {
    if (performance.now() < dueAt) return;
    dueAt = Number.POSITIVE_INFINITY;
    const night = new Date(now);
    night.setHours(now.getHours() < NIGHT_HOUR ? NIGHT_HOUR : 24 + NIGHT_HOUR, 0, 0, 0);
    let pauseMs = night.getTime() - now.getTime();
    try {
      await run(now.getTime());
    } catch (error) {
      pauseMs = RETRY_MS;
      if (!closing.signal.aborted) warn((error as Error).message);
    }
    dueAt = performance.now() + pauseMs;
  };
  const stopLooking = every(LOOK_MS, () => void look(new Date()));
  const stop = () => {
    stopLooking();
    closing.abort();
  };
  return { look, stop };
}

/**
 * @returns the time by which retention counts ages: for a day after a jump by more than a day no later than before it. A box that was
 * off for a week looks the same, and deletes what was due when it went off.
 */
export function trustedMs(directory: DataDirectory, nowMs: number): number {
  const [, jumpedMs, beforeMs] = nextMark(directory, nowMs);
  return Math.abs(nowMs - jumpedMs) < JUMP_MS ? Math.min(nowMs, beforeMs) : nowMs;
}

/** @returns the clock now, when it has jumped (0: never), and its last mark before that. */
function nextMark(
  directory: DataDirectory,
  nowMs: number,
): [nowMs: number, jumpedMs: number, beforeMs: number] {
  const [lastMs = nowMs, jumpedMs = 0, beforeMs = 0] = readMark(directory);
  return Math.abs(nowMs - lastMs) > JUMP_MS ? [nowMs, nowMs, lastMs] : [nowMs, jumpedMs, beforeMs];
}

/** @returns the last mark; nothing if there is none. */
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
      const times = nextMark(directory, nowMs).map((ms) => String(ms).padStart(15, '0'));
      directory.overwrite('clock', `${times.join(' ')} \n`);
    } catch {
      // Retention uses the next mark.
    }
  };
  mark();
  return every(MARK_MS, mark);
}
