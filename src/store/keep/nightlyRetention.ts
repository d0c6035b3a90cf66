import type { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';
import type { PruneSelection } from './expiredEvents.ts';

/** From the start of the daemon to the first run. */
const START_MS = 30_000;
/** How often the time is looked at, and the clock marked. */
const HOUR_MS = 3_600_000;
/** Local time: the backup of the night begins before 04:00 (courtd-backup.timer). */
const NIGHT_HOUR = 4;
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
): { readonly look: (now?: Date) => Promise<void>; readonly stop: () => void } {
  const closing = new AbortController();
  const ages = [{ seconds: keepPositions, type: 'PLAYER_POSITION' }, { seconds: keep }];
  let isDue = true;
  const look = async (now = new Date()) => {
    const nowMs = trustedMs(data, now.getTime());
    if (!isDue && now.getHours() !== NIGHT_HOUR) return;
    isDue = false;
    try {
      for (const { seconds, ...type } of ages)
        if (seconds > 0) await prune({ beforeMs: nowMs - 1_000 * seconds, nowMs, ...type }, closing.signal);
    } catch (error) {
      isDue = true;
      if (!closing.signal.aborted) warn((error as Error).message);
    }
  };
  trustedMs(data, Date.now());
  const first = setTimeout(look, START_MS);
  const stopLooking = every(HOUR_MS, look);
  const stop = () => {
    clearTimeout(first);
    stopLooking();
    closing.abort();
  };
  return { look, stop };
}

/**
 * Marks the clock of the box.
 * @returns the time by which retention counts ages: for a day after a jump by more than a day no later than before it. A box that was
 * off for a week looks the same, and deletes what was due when it went off.
 */
export function trustedMs(directory: DataDirectory, nowMs: number): number {
  let mark: number[] = [];
  try {
    mark = directory.read('clock').split(' ').map(Number);
  } catch {
    // There is none yet.
  }
  /** The last mark, when the clock has jumped (0: never), and its last mark before that. */
  let [lastMs = nowMs, jumpedMs = 0, beforeMs = 0] = mark;
  if (Math.abs(nowMs - lastMs) > JUMP_MS) [jumpedMs, beforeMs] = [nowMs, lastMs];
  try {
    // Of constant length: a full disk must take it.
    const times = [nowMs, jumpedMs, beforeMs].map((ms) => String(ms).padStart(15, '0'));
    // Before that the clock was never set: its time must not be compared with another one.
    if (nowMs >= EARLIEST_RECEIVED_MS) directory.overwrite('clock', `${times.join(' ')} \n`);
  } catch {
    // Retention uses the next mark.
  }
  return Math.abs(nowMs - jumpedMs) < JUMP_MS ? Math.min(nowMs, beforeMs) : nowMs;
}
