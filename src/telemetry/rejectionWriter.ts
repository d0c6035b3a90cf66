import { REJECTIONS_WRITE_BYTES, REJECTIONS_WRITE_MS } from '../base/limits.ts';
import type { RejectionChanges } from '../store/rejections/storedRejections.ts';
import type { RejectionLog } from './rejectionLog.ts';

/** How soon a rejection is on disk if none was written for a while. */
const CHECK_MS = 1_000;

/** Keeps the rejections over a restart, and spares the flash: at most one small write a minute, and only if there is anything new. */
export class RejectionWriter {
  readonly #log: RejectionLog;
  readonly #write: (changes: RejectionChanges) => boolean;
  readonly #timer: NodeJS.Timeout;
  #writtenAt = Number.NEGATIVE_INFINITY;

  /** @param write returns whether the changes are on disk. */
  constructor(log: RejectionLog, write: (changes: RejectionChanges) => boolean) {
    this.#log = log;
    this.#write = write;
    this.#timer = setInterval(() => this.look(performance.now()), CHECK_MS).unref();
  }

  /** Writes what is new, unless it has done so within the last minute. @param now of the monotonic clock, in milliseconds. */
  look(now: number): void {
    if (!this.#log.isChanged || now - this.#writtenAt < REJECTIONS_WRITE_MS) return;
    // After a failure too: a disk that is full or locked is not tried every second for this.
    this.#writtenAt = now;
    this.#put(REJECTIONS_WRITE_BYTES);
  }

  /** Writes everything, once. */
  stop(): void {
    clearInterval(this.#timer);
    this.#put(Number.POSITIVE_INFINITY);
  }

  #put(maxBytes: number): void {
    const { added, gone, done } = this.#log.changes(maxBytes);
    if (added.length > 0 || gone.length > 0) done(this.#write({ added, gone }));
  }
}
