import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { RESERVE_BYTES } from '../../base/limits.ts';
import type { Checkpointer, WalState } from '../db/checkpointer.ts';
import { fillReserve, freeBytes, releaseReserve } from '../db/diskReserve.ts';
import { ALONE_STEP, SERVING_STEP } from '../db/sizes.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import type { Appender } from '../write/appender.ts';
import type { GroupCommit } from '../write/groupCommit.ts';

/** Attempts at one transaction, and the pause between two: on a locked database, and on a full disk. */
const BUSY = { attempts: 1_000, pauseMs: 5 } as const;
const FULL = { attempts: 4, pauseMs: 100 } as const;
/** Frames in the WAL at which the steps wait until all are copied, which a reader may prevent. */
const WAL_FRAMES_MAX = 4_000;
/** A checkpoint of the writer may be running: what takes more waits than this is a reader. */
const OWN_WAITS = 10;
const READER_WAIT_MS = 100;
/** Free pages from which a full disk gets some back before the end, and how many a transaction moves: fewer bytes than the reserve. */
const GIVE_BACK_PAGES = { least: 4_096, step: 250 } as const;

/** What they need of the writer of events, which commits them between its groups. */
export type StepWriter = Pick<
  GroupCommit,
  'step' | 'isServing' | 'maintain' | 'truncateWal' | 'holdForPrune'
> & {
  readonly appender: Pick<Appender, 'forgetNames' | 'readErasures'>;
  readonly checkpoints: Pick<Checkpointer, 'copied'>;
};

/** What a prune or an erasure runs with. */
export interface StepContext {
  /** The connection of the writer. */
  readonly db: Database;
  readonly writer: StepWriter;
  readonly on: StepProgress;
  /** Ends it at its next pause, with an AbortError. */
  readonly signal?: AbortSignal;
}

/** Called with how many events are done; `reader`: another program keeps reading, and the steps wait for it. */
export type StepProgress = (doing: 'events' | 'reader', count: number) => void;

/** A transaction, which may be repeated; undefined after a read that found nothing to change. */
export type Step = (() => void) | undefined;

/** Runs the short transactions of a prune or an erasure while events come in: with pauses, behind long readers, and on a full disk. */
export class Steps {
  readonly #context: StepContext;
  readonly #db: Database;
  readonly #directory: DataDirectory;
  readonly #writer: StepWriter;
  #isDiskFull = false;

  constructor(context: StepContext) {
    this.#context = context;
    this.#db = context.db;
    this.#directory = DataDirectory.of(context.db.name);
    this.#writer = context.writer;
  }

  /** How many rows a step may change. */
  readonly rows = () => this.#pace.rows;

  get #pace() {
    return this.#writer.isServing ? SERVING_STEP : ALONE_STEP;
  }

  /**
   * Commits what a generator yields, with a pause after each.
   * @param isSynced each with an fsync, which makes everything before it durable, too.
   * @throws {SqliteError} after the last attempt, and an AbortError.
   */
  async run(steps: Iterable<Step>, isSynced = false): Promise<void> {
    for (const step of steps) {
      if (step !== undefined) {
        await this.#waitForReaders();
        await this.#commit(step, isSynced);
        await this.giveBack(GIVE_BACK_PAGES.least);
      }
      await this.#sleep(this.#pace.pauseMs);
    }
  }

  /** On a full disk, returns free pages to the file system until the reserve is whole again, with as much room again. */
  async giveBack(least = 1): Promise<void> {
    const freePages = () => this.#db.pragma('freelist_count', { simple: true }) as number;
    if (!this.#isDiskFull || freePages() < least) return;
    while (this.#isDiskFull && freePages() > 0) {
      // Not `simple`: the pragma returns a row for each page.
      await this.#commit(() => void this.#db.pragma(`incremental_vacuum(${GIVE_BACK_PAGES.step})`));
      this.#writer.truncateWal();
      if (freeBytes(this.#directory) >= 2 * RESERVE_BYTES && fillReserve(this.#directory))
        this.#setDiskFull(false);
    }
  }

  /** Call it at the end, also after a failure: as long as the WAL has what was deleted, the reserve cannot be whole. */
  end(): void {
    if (!this.#isDiskFull) return;
    this.#writer.truncateWal();
    fillReserve(this.#directory);
    this.#setDiskFull(false);
  }

  async #commit(step: () => void, isSynced = false): Promise<void> {
    for (let [busy, full] = [1, 1]; ; ) {
      try {
        return this.#writer.step(step, isSynced);
      } catch (error) {
        const kind = failureKind(error);
        if (kind === 'busy' && busy++ < BUSY.attempts) await this.#sleep(BUSY.pauseMs);
        else if (kind === 'full' && full++ < FULL.attempts) {
          if (!this.#isDiskFull) this.#setDiskFull(true);
          releaseReserve(this.#directory);
          this.#writer.truncateWal();
          // A reader may have kept the WAL from being truncated just now.
          await this.#sleep(FULL.pauseMs);
        } else throw error;
      }
    }
  }

  #setDiskFull(isFull: boolean): void {
    this.#isDiskFull = isFull;
    this.#writer.holdForPrune(isFull);
  }

  #sleep(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.#context.signal });
  }

  /** While a reader stays open, the WAL grows with each step until events are rejected. So the steps wait instead. */
  async #waitForReaders(): Promise<void> {
    const isLong = () => {
      const [{ log, checkpointed }] = this.#db.pragma('wal_checkpoint(NOOP)') as [WalState];
      return log >= WAL_FRAMES_MAX && checkpointed < log;
    };
    for (let waits = 0; isLong(); waits++) {
      if (waits >= OWN_WAITS) this.#context.on('reader', 0);
      this.#writer.maintain();
      await this.#sleep(READER_WAIT_MS);
    }
  }
}
