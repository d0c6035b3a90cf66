import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { RESERVE_BYTES } from '../../base/limits.ts';
import type { WalState } from '../db/checkpointer.ts';
import { fillReserve, freeBytes, releaseReserve } from '../db/diskReserve.ts';
import { ALONE_STEP, SERVING_STEP } from '../db/sizes.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import type { Appender } from '../write/appender.ts';
import type { GroupCommit } from '../write/groupCommit.ts';

/** Attempts at one transaction on a locked database or a full disk, and the pause between two. */
const RETRY = { attempts: 100, pauseMs: 50 } as const;
/** Frames in the WAL at which the steps wait until all are copied, which a reader may prevent. */
const WAL_FRAMES_MAX = 4_000;
const READER_WAIT_MS = 100;
/** Free pages that a transaction returns to a full disk: fewer bytes than the reserve. */
const RETURNED_PAGES = 250;

/** What they need of the writer of events, which commits them between its groups. */
export type StepWriter = Pick<GroupCommit, 'step' | 'isServing' | 'maintain' | 'truncateWal' | 'hold'> & {
  readonly appender: Pick<Appender, 'forgetNames' | 'readErasures'>;
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

/** Called with how many events are done. */
export type StepProgress = (events: number) => void;

/** A transaction, which may be repeated; undefined after a read that found nothing to change. */
export type Step = (() => void) | undefined;

/** Runs the short transactions of a prune or an erasure while events come in: with pauses, behind long readers, and on a full disk. */
export class Steps {
  readonly #context: StepContext;
  readonly #directory: DataDirectory;
  #isDiskFull = false;

  constructor(context: StepContext) {
    this.#context = context;
    this.#directory = DataDirectory.of(context.db.name);
  }

  /** How many rows a step may change. */
  readonly rows = () => this.#pace.rows;

  get #pace() {
    return this.#context.writer.isServing ? SERVING_STEP : ALONE_STEP;
  }

  /**
   * Commits what a generator yields, with a pause after each.
   * @param isSynced each with an fsync, which makes everything before it durable, too.
   * @throws {SqliteError} after the last attempt, and an AbortError.
   */
  async run(steps: Iterable<Step>, isSynced = false): Promise<void> {
    const { writer } = this.#context;
    for (const step of steps) {
      // While a reader stays open, the WAL would grow with each step until events are rejected.
      for (; step !== undefined && this.#isWalLong; await this.#sleep(READER_WAIT_MS)) writer.maintain();
      if (step !== undefined) await this.#commit(step, isSynced);
      await this.#sleep(this.#pace.pauseMs);
    }
  }

  /**
   * Call it at the end, also after a failure. Returns free pages to a full disk until the reserve is whole again, with as much room
   * again.
   */
  async end(): Promise<void> {
    if (!this.#isDiskFull) return;
    const { db, writer } = this.#context;
    try {
      writer.truncateWal();
      while (
        freeBytes(this.#directory) < 2 * RESERVE_BYTES &&
        db.pragma('freelist_count', { simple: true })
      ) {
        // Not `simple`: the pragma returns a row for each page.
        await this.#commit(() => void db.pragma(`incremental_vacuum(${RETURNED_PAGES})`));
        writer.truncateWal();
      }
    } finally {
      fillReserve(this.#directory);
      writer.hold('full', false);
    }
  }

  async #commit(step: () => void, isSynced = false): Promise<void> {
    const { writer } = this.#context;
    for (let attempt = 1; ; attempt++) {
      try {
        return writer.step(step, isSynced);
      } catch (error) {
        const kind = failureKind(error);
        if ((kind !== 'busy' && kind !== 'full') || attempt === RETRY.attempts) throw error;
        if (kind === 'full') this.#makeRoom();
        await this.#sleep(RETRY.pauseMs);
      }
    }
  }

  #makeRoom(): void {
    // What it frees is for its own commits.
    this.#context.writer.hold('full', true);
    this.#isDiskFull = true;
    releaseReserve(this.#directory);
    // A reader may keep it from being truncated, until the next attempt.
    this.#context.writer.truncateWal();
  }

  #sleep(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.#context.signal });
  }

  get #isWalLong(): boolean {
    const [{ log, checkpointed }] = this.#context.db.pragma('wal_checkpoint(NOOP)') as [WalState];
    return log >= WAL_FRAMES_MAX && checkpointed < log;
  }
}
