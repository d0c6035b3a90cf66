import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { FILES_CHECK_MS } from '../../base/limits.ts';
import { fillReserve, releaseReserve } from '../directory/diskReserve.ts';
import { failureKind } from '../sqlite/errors.ts';
import type { WalState } from '../wal/checkpointer.ts';

/** How long one transaction may hold the write lock, so that no request waits for long. */
export const PRUNE_STEP_MS = 4;
/** Events or names that one transaction deletes at most. */
export const PRUNE_STEP_ROWS = 200;
/** Rows that a prune reads with one query. */
export const PRUNE_READ_ROWS = 1_000;
/** Frames of the log that are not in the file yet, because another program reads, from which a prune onWait: 16 MiB. */
const WAL_FRAMES_MAX = 4_000;
/** How long it leaves the database to others after each step, at least; after a slow one twice as long as that took. */
const PAUSE_MS = 5;
/** How often a step is tried on a locked database, waiting COMMAND_BUSY_MS each time; and on a full disk, making room each time. */
const ATTEMPTS = { busy: 6, full: 4 } as const;

const READER_WAIT_MS = 500;

/**
 * Transactions of a few milliseconds beside a daemon that takes events: with pauses, behind a reader that does not end, and on a full disk.
 */
export class PruneSteps {
  readonly #db: Database;
  readonly #directory: string;
  readonly #onWait: () => void;
  #isDiskFull = false;

  /** @param onWait is told again and again while another program reads for so long that the steps wait for it. */
  constructor(db: Database, onWait: () => void) {
    this.#db = db;
    this.#directory = path.dirname(db.name);
    this.#onWait = onWait;
  }

  /** Whether the disk is full, and the reserve given up. */
  get isDiskFull(): boolean {
    return this.#isDiskFull;
  }

  /** One transaction, and a pause. @returns how long it held the lock, in milliseconds. */
  async run(work: () => void): Promise<number> {
    await this.#waitForReaders();
    const transaction = this.#db.transaction(() => {
      const startedAt = performance.now();
      work();
      return startedAt;
    });
    const tookMs = await this.#retrying(() => performance.now() - transaction.immediate());
    await sleep(Math.max(PAUSE_MS, 2 * tookMs));
    return tookMs;
  }

  /**
   * Works through a list in transactions that end when they have taken their time.
   * @param most items of one transaction.
   * @param work @returns what is to be counted once it is committed: it may be done again.
   */
  async runAll<Item>(
    items: readonly Item[],
    most: number,
    work: (items: Iterable<Item>) => () => void,
  ): Promise<void> {
    for (let at = 0; at < items.length; ) {
      let next = at;
      let committed = () => {};
      await this.run(() => {
        next = at;
        const until = performance.now() + PRUNE_STEP_MS;
        committed = work(
          (function* () {
            while (next < items.length && next - at < most) {
              yield items[next++]!;
              if (performance.now() > until) return;
            }
          })(),
        );
      });
      committed();
      at = next;
    }
  }

  /** Brings the log into the file, which gets shorter by what was given back. Takes the reserve back where there is room again. */
  async checkpoint(): Promise<void> {
    // Beside others: it onWait for nobody, and nobody for it.
    await this.#retrying(() => this.#db.pragma('wal_checkpoint(PASSIVE)'));
    if (!this.#isDiskFull) return;
    this.#truncateWal();
    this.#isDiskFull = !fillReserve(this.#directory);
  }

  async #retrying<Result>(work: () => Result): Promise<Result> {
    for (let [busy, full] = [1, 1]; ; ) {
      try {
        return work();
      } catch (error) {
        const kind = failureKind(error);
        if (kind === 'busy' && busy++ < ATTEMPTS.busy) await sleep(PAUSE_MS);
        else if (kind === 'full' && full++ < ATTEMPTS.full) await this.#freeSpace();
        else throw error;
      }
    }
  }

  async #freeSpace(): Promise<void> {
    if (!this.#isDiskFull) await releaseReserve(this.#directory, () => sleep(2 * FILES_CHECK_MS));
    this.#isDiskFull = true;
    this.#truncateWal();
  }

  /** What it takes on the disk is more than what the file grows by, if it grows at all. */
  #truncateWal(): void {
    try {
      this.#db.pragma('wal_checkpoint(TRUNCATE)');
    } catch (error) {
      // Not even for that: there may be room for a step all the same.
      if (failureKind(error) !== 'full') throw error;
    }
  }

  /** Beside a reader that does not end all that is written stays in the log, until cameras are refused: it onWait instead. */
  async #waitForReaders(): Promise<void> {
    const framesLeft = (mode: 'NOOP' | 'PASSIVE') => {
      const [{ log, checkpointed }] = this.#db.pragma(`wal_checkpoint(${mode})`) as [WalState];
      return log - checkpointed;
    };
    if (framesLeft('NOOP') < WAL_FRAMES_MAX) return;
    const isHeld = () => framesLeft('PASSIVE') >= WAL_FRAMES_MAX;
    while (await this.#retrying(isHeld)) {
      this.#onWait();
      await sleep(READER_WAIT_MS);
    }
  }
}
