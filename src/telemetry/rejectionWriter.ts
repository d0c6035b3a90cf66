import { REJECTIONS_WRITE_BYTES, REJECTIONS_WRITE_MS } from '../base/limits.ts';
import type { RejectionChanges } from '../store/rejections/storedRejections.ts';
import type { RefusalBook } from './refusalBook.ts';

/** How soon a rejection is written if none has been written for a while. */
const CHECK_MS = 1_000;

/** Keeps rejections across restarts. To spare the flash, it writes at most once a minute, a little, and only what is new. */
export class RejectionWriter {
  readonly #book: RefusalBook;
  readonly #write: (changes: RejectionChanges) => boolean;
  readonly #timer: NodeJS.Timeout;
  #writtenAt = Number.NEGATIVE_INFINITY;

  /** @param write returns whether the changes are on disk. */
  constructor(book: RefusalBook, write: (changes: RejectionChanges) => boolean) {
    this.#book = book;
    this.#write = write;
    this.#timer = setInterval(() => this.look(performance.now()), CHECK_MS).unref();
  }

  /** Writes what is new, unless it has done so within the last minute. @param now of the monotonic clock, in milliseconds. */
  look(now: number): void {
    if (!this.#book.isChanged || now - this.#writtenAt < REJECTIONS_WRITE_MS) return;
    // After a failure too: this is not worth a try a second on a full disk or a locked database.
    this.#writtenAt = now;
    this.#book.flush(this.#write, REJECTIONS_WRITE_BYTES);
  }

  /** Writes everything, once. */
  stop(): void {
    clearInterval(this.#timer);
    this.#book.flush(this.#write, Number.POSITIVE_INFINITY);
  }
}
