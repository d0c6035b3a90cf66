import fs from 'node:fs';
import { WAL_MAX_BYTES, WAL_WARN_BYTES } from '../../base/limits.ts';
import type { Checkpointer } from './checkpointer.ts';

/** How often the size is checked. */
const WAL_CHECK_MS = 1_000;

/** What the daemon logs of the write-ahead log's size. */
export interface WalEvents {
  /** Another program reads for so long that the log cannot be cut off: told once. */
  walLarge(bytes: number): void;
  walSmall(bytes: number): void;
}

/** What the store does about it: no further event while the log is over its limit. */
interface WalLimit {
  walOver(isOver: boolean): void;
}

export interface WalOptions {
  readonly warnBytes?: number;
  readonly maxBytes?: number;
  readonly checkMs?: number;
}

/**
 * The write-ahead log can only be cut off when no reader needs its start; one that stays open lets it grow for as
 * long as events come. So its size is watched: a warning above WAL_WARN_BYTES, no further event above WAL_MAX_BYTES.
 */
export class WalMonitor {
  readonly #checkpoints: Checkpointer;
  readonly #file: string;
  readonly #on: WalEvents & WalLimit;
  readonly #warnBytes: number;
  readonly #maxBytes: number;
  readonly #timer: NodeJS.Timeout;
  #isLarge = false;
  #isOver = false;

  /** @param file the database. */
  constructor(
    checkpoints: Checkpointer,
    file: string,
    on: WalEvents & WalLimit,
    { warnBytes = WAL_WARN_BYTES, maxBytes = WAL_MAX_BYTES, checkMs = WAL_CHECK_MS }: WalOptions = {},
  ) {
    this.#checkpoints = checkpoints;
    this.#file = `${file}-wal`;
    this.#on = on;
    this.#warnBytes = warnBytes;
    this.#maxBytes = maxBytes;
    this.#timer = setInterval(() => this.check(), checkMs).unref();
  }

  check(): void {
    let bytes = this.#size();
    if (bytes > this.#warnBytes) {
      // Does nothing while the reader is there; once it is gone, it cuts the log off even if no event comes.
      if (this.#checkpoints.isDue) this.#checkpoints.step();
      this.#checkpoints.truncate();
      bytes = this.#size();
    }
    const isLarge = bytes > this.#warnBytes;
    if (isLarge && !this.#isLarge) this.#on.walLarge(bytes);
    if (!isLarge && this.#isLarge) this.#on.walSmall(bytes);
    this.#isLarge = isLarge;
    const isOver = bytes > this.#maxBytes;
    if (isOver !== this.#isOver) this.#on.walOver(isOver);
    this.#isOver = isOver;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** By its name, never by opening it. */
  #size(): number {
    return fs.statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
  }
}
