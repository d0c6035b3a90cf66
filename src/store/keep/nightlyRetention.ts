import type { DataDirectory } from '../../base/dataDirectory.ts';
import { every } from '../../base/pause.ts';
import { JUMP_MS, lastJumpMs } from '../db/clockMark.ts';
import type { PruneSelection } from './expiredEvents.ts';

/** How often the time is looked at. The first look is the run after a start. */
const LOOK_MS = 30_000;
const RETRY_MS = 3_600_000;
/** Local time: the backup of the night begins before 04:00 (courtd-backup.timer). */
const NIGHT_HOUR = 4;

/** How long events, and player positions, are kept after their receipt, in seconds; 0: for ever. */
export interface Keep {
  readonly data: DataDirectory;
  readonly keep: number;
  readonly keepPositions: number;
}

/** Deletes events that are older than `--keep` and `--keep-positions`, after a start and once a night. */
export class NightlyRetention {
  readonly #options: Keep;
  readonly #prune: (selection: PruneSelection, signal: AbortSignal) => Promise<void>;
  readonly #warn: (reason: string) => void;
  readonly #stop: () => void;
  readonly #closing = new AbortController();
  /** Milliseconds of the monotonic clock. */
  #dueAt = 0;

  /** @param warn is called with why nothing more is deleted for now. */
  constructor(
    options: Keep,
    prune: (selection: PruneSelection, signal: AbortSignal) => Promise<void>,
    warn: (reason: string) => void,
  ) {
    this.#options = options;
    this.#prune = prune;
    this.#warn = warn;
    const isOff = options.keep + options.keepPositions === 0;
    this.#stop = isOff ? () => {} : every(LOOK_MS, () => void this.look(new Date()));
  }

  stop(): void {
    this.#stop();
    this.#closing.abort();
  }

  /** Runs the prunes that are due. @param now in local time. */
  async look(now: Date): Promise<void> {
    if (performance.now() < this.#dueAt) return;
    this.#dueAt = Number.POSITIVE_INFINITY;
    const night = new Date(now);
    night.setHours(now.getHours() < NIGHT_HOUR ? NIGHT_HOUR : 24 + NIGHT_HOUR, 0, 0, 0);
    let pauseMs = night.getTime() - now.getTime();
    try {
      await this.#run(now.getTime());
    } catch (error) {
      pauseMs = RETRY_MS;
      if (!this.#closing.signal.aborted) this.#warn((error as Error).message);
    }
    this.#dueAt = performance.now() + pauseMs;
  }

  async #run(nowMs: number): Promise<void> {
    const { data, keep, keepPositions } = this.#options;
    if (Math.abs(nowMs - lastJumpMs(data, nowMs)) < JUMP_MS)
      throw new Error('The clock has jumped by more than a day: nothing is deleted for a day.');
    const ages = [{ seconds: keepPositions, type: 'PLAYER_POSITION' }, { seconds: keep }];
    for (const { seconds, ...type } of ages.filter(({ seconds }) => seconds > 0))
      await this.#prune({ beforeMs: nowMs - 1_000 * seconds, nowMs, ...type }, this.#closing.signal);
  }
}
