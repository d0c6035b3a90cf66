import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import { WAL_CHECK_MS, WAL_MAX_BYTES, WAL_WARN_BYTES } from '../protocol/limits.ts';

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

/**
 * The write-ahead log can only be cut off when no reader needs its start; one that stays open lets it grow for as
 * long as events come. So its size is watched: a warning above WAL_WARN_BYTES, no further event above WAL_MAX_BYTES.
 */
export class WalWatch {
  readonly #db: Database;
  readonly #file: string;
  readonly #on: WalEvents & WalLimit;
  readonly #timer: NodeJS.Timeout;
  #isLarge = false;
  #isOver = false;

  constructor(db: Database, file: string, on: WalEvents & WalLimit) {
    this.#db = db;
    this.#file = `${file}-wal`;
    this.#on = on;
    this.#timer = setInterval(() => this.check(), WAL_CHECK_MS).unref();
  }

  check(): void {
    let bytes = this.#size();
    if (bytes > WAL_WARN_BYTES) {
      // Does nothing while the reader is there; once it is gone, cuts the log off even if no event comes.
      this.#db.pragma('wal_checkpoint(TRUNCATE)');
      bytes = this.#size();
    }
    const isLarge = bytes > WAL_WARN_BYTES;
    if (isLarge && !this.#isLarge) this.#on.walLarge(bytes);
    if (!isLarge && this.#isLarge) this.#on.walSmall(bytes);
    this.#isLarge = isLarge;
    const isOver = bytes > WAL_MAX_BYTES;
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
