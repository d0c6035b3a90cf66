import { statfs } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { every } from '../base/pause.ts';
import { previousDatabases } from '../store/db/previousDatabases.ts';
import { logProblem } from './finding.ts';
import { problem } from './problems.ts';

const DISK_CHECK_MS = 30_000;
/** Hysteresis: percent of the floor that must be free above it, before the log says that there is room again. */
const MIN_FREE_SLACK_PERCENT = 5;

/** Warns once when the disk is filling up, long before it is full, and logs once when there is room again. */
export class DiskSpaceMonitor {
  readonly #directory: DataDirectory;
  readonly #floorBytes: number;
  readonly #log: Logger;
  readonly #reusable: () => number;
  readonly stop = every(DISK_CHECK_MS, () => void this.check());
  #isLow = false;

  /**
   * @param floorBytes free space below which it warns; 0 turns the warning off.
   * @param reusable how many bytes of the database file are free.
   */
  constructor(directory: DataDirectory, floorBytes: number, log: Logger, reusable = () => 0) {
    this.#directory = directory;
    this.#floorBytes = floorBytes;
    this.#log = log;
    this.#reusable = reusable;
  }

  /** Never throws: if the free space cannot be read, it logs that. */
  async check(): Promise<void> {
    try {
      const { bavail, bsize } = await statfs(this.#directory.path);
      this.#update(bavail * bsize + this.#reusable());
    } catch (error) {
      this.#log.warn(
        { code: (error as NodeJS.ErrnoException).code },
        'cannot read how much space is free on the disk',
      );
    }
  }

  #update(freeBytes: number): void {
    // Hysteresis, so that free space that fluctuates around the floor is not logged again and again.
    const slackBytes = this.#isLow ? (this.#floorBytes * MIN_FREE_SLACK_PERCENT) / 100 : 0;
    const isLow = freeBytes < this.#floorBytes + slackBytes;
    if (isLow === this.#isLow) return;
    this.#isLow = isLow;
    const minFreeBytes = this.#floorBytes;
    const line = {
      free_mib: Math.floor(freeBytes / 1024 ** 2),
      floor_mib: Math.floor(minFreeBytes / 1024 ** 2),
    };
    if (!isLow) return this.#log.info(line, 'there is room on the disk again');
    const { names, bytes } = previousDatabases(this.#directory);
    const old = names.length === 0 ? {} : { may_go: names, may_go_mib: Math.floor(bytes / 1024 ** 2) };
    const low = problem('disk_low', freeBytes, minFreeBytes);
    logProblem(this.#log, low, { ...line, ...old });
  }
}
