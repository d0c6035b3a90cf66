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
/** Frames that a reader keeps from being checkpointed, at which a prune waits for the reader: 16 MiB. */
const WAL_FRAMES_MAX = 4_000;
/** Pause after each step, at least; after a slow one twice as long as the step took. */
const PAUSE_MS = 5;
/**
 * Attempts at one step: on a locked database, each waiting COMMAND_BUSY_MS; on a full disk, freeing space
 * before each.
 */
const ATTEMPTS = { busy: 6, full: 4 } as const;

const READER_WAIT_MS = 500;

/**
 * Runs transactions of a few milliseconds beside a daemon that stores events: with pauses, waiting for long
 * readers, and on a full disk.
 */
export class PruneSteps {
  readonly #db: Database;
  readonly #directory: string;
  readonly #onWait: () => void;
  #isDiskFull = false;

  /** @param onWait called repeatedly while the steps wait for another program that keeps reading. */
  constructor(db: Database, onWait: () => void) {
    this.#db = db;
    this.#directory = path.dirname(db.name);
    this.#onWait = onWait;
  }

  /** Whether the disk is full and the reserve released. */
  get isDiskFull(): boolean {
    return this.#isDiskFull;
  }

  /**
   * Runs one transaction, then pauses.
   * @returns how long it held the write lock, in milliseconds.
   * @throws {SqliteError} after the last attempt.
   */
  async run(work: () => void): Promise<number> {
    await this.#waitForReaders();
    const transaction = this.#db.transaction(() => {
      const startedAt = performance.now();
      work();
      return startedAt;
    });
    const tookMs = await this.#retrying(() => {
      const startedAt = transaction.immediate();
      return performance.now() - startedAt;
    });
    await sleep(Math.max(PAUSE_MS, 2 * tookMs));
    return tookMs;
  }

  /**
   * Works through a list in transactions of at most PRUNE_STEP_MS.
   * @param most items of one transaction.
   * @param work handles the items and returns what to do after the commit. It is called again where the
   * transaction fails.
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

  /**
   * Checkpoints the WAL, which shrinks the file by the pages that were returned. Refills the reserve if there
   * is space again.
   */
  async checkpoint(): Promise<void> {
    // PASSIVE: it waits for nobody, and nobody waits for it.
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

  /** Frees more space than the database file may grow by. */
  #truncateWal(): void {
    try {
      this.#db.pragma('wal_checkpoint(TRUNCATE)');
    } catch (error) {
      // No space even for the checkpoint: there may be some for a step.
      if (failureKind(error) !== 'full') throw error;
    }
  }

  /**
   * While a reader stays open, whatever is written stays in the WAL, until events are refused. So the prune
   * waits instead.
   */
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
