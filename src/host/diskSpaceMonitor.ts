import { statfs } from 'node:fs/promises';
import type { Logger } from 'pino';
import { DISK_CHECK_MS } from '../base/limits.ts';
import { keptDatabases } from '../store/open/keptDatabases.ts';

/** How much of that floor must be free in addition before the log says that there is room again, in percent. */
const MIN_FREE_SLACK_PERCENT = 5;

/** Says when the disk is filling up, long before it is full, and when there is room again: once each. */
export class DiskSpaceMonitor {
  readonly #directory: string;
  readonly #floorBytes: number;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #isLow = false;

  /** @param floorBytes free space below which it warns; 0 turns it off. */
  constructor(directory: string, floorBytes: number, log: Logger) {
    this.#directory = directory;
    this.#floorBytes = floorBytes;
    this.#log = log;
    this.#timer = setInterval(() => void this.check(), DISK_CHECK_MS).unref();
  }

  async check(): Promise<void> {
    try {
      const { bavail, bsize } = await statfs(this.#directory);
      this.#note(bavail * bsize);
    } catch (error) {
      this.#log.warn({ code: (error as NodeJS.ErrnoException).code }, 'cannot tell how full the disk is');
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #note(freeBytes: number): void {
    // Free space that wavers around the floor is not told again and again.
    const slackBytes = this.#isLow ? (this.#floorBytes * MIN_FREE_SLACK_PERCENT) / 100 : 0;
    const isLow = freeBytes < this.#floorBytes + slackBytes;
    if (isLow === this.#isLow) return;
    this.#isLow = isLow;
    const line = {
      free_mib: Math.floor(freeBytes / 1024 ** 2),
      floor_mib: Math.floor(this.#floorBytes / 1024 ** 2),
    };
    if (!isLow) return this.#log.info(line, 'there is room on the disk again');
    const { names, bytes } = keptDatabases(this.#directory);
    const old = names.length === 0 ? {} : { may_go: names, may_go_mib: Math.floor(bytes / 1024 ** 2) };
    this.#log.warn(
      { ...line, ...old },
      'the disk is filling up: make room, or events will be refused when it is full',
    );
  }
}
