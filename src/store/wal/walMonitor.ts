import fs from 'node:fs';
import { WAL_MAX_BYTES, WAL_WARN_BYTES } from '../../base/limits.ts';
import type { Checkpointer } from './checkpointer.ts';

const WAL_CHECK_MS = 1_000;

/** What the daemon logs about the size of the WAL. */
export interface WalEvents {
  /**
   * Another program has been reading for so long that the WAL cannot be truncated. Once each time it grows
   * too large.
   */
  walLarge(bytes: number): void;
  /** The WAL is small again. */
  walSmall(bytes: number): void;
}

/** What the store does about it: it refuses events while the WAL is over its limit. */
interface WalLimit {
  walOver(isOver: boolean): void;
}

/** Other thresholds, for tests. */
export interface WalOptions {
  readonly warnBytes?: number;
  readonly maxBytes?: number;
  readonly checkMs?: number;
}

/**
 * Watches the size of the WAL. It can be truncated only when no reader needs its start, so a reader that
 * stays open lets it grow for as long as events arrive. Above WAL_WARN_BYTES the operator is warned; above
 * WAL_MAX_BYTES events are refused, because the disk is for events.
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
      // Does nothing while the reader is open; once it has closed, truncates the WAL even if no event
      // arrives.
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

  /** By name, never by opening it: closing the descriptor would drop SQLite's locks. */
  #size(): number {
    return fs.statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
  }
}
