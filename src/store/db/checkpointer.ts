import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import { WAL_MAX_BYTES, WAL_WARN_BYTES } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';
import { CHECKPOINT_FRAMES } from './sizes.ts';
import { runInThread } from './statementThread.ts';

/** Pause after a checkpoint that a reader kept from completing, or that failed. */
const CHECKPOINT_RETRY_MS = 1_000;
/** Pause after a look that found nothing to do. */
const CHECKPOINT_LOOK_MS = 50;
const WAL_CHECK_MS = 1_000;

type Mode = 'NOOP' | 'PASSIVE' | 'TRUNCATE';

/**
 * Runs a checkpoint; NOOP only looks.
 * @returns the frames in the WAL (-1 without a WAL), and how many of them are not in the database file yet, because readers keep them.
 * @throws {SqliteError}
 */
export function checkpoint(db: Database, mode: Mode): { frames: number; left: number } {
  const run = db.prepare<[], { log: number; checkpointed: number }>(`PRAGMA main.wal_checkpoint(${mode})`);
  const { log, checkpointed } = run.get()!;
  return { frames: log, left: log - checkpointed };
}

/**
 * Checkpoints the WAL between commits. SQLite's automatic checkpoints hide I/O errors, run inside a commit, and copy all frames at once,
 * which blocks the event loop: for 6 ms at 2,000 frames, for 1.5 s at the 440 MB that a long reader leaves.
 *
 * A thread with its own connection copies most frames, while commits continue. Then those that came meanwhile are copied here: only
 * when none is left does SQLite reuse the WAL from its start.
 */
export class Checkpointer {
  readonly #db: Database;
  readonly #onFailure: (error: unknown) => void;
  #running: Promise<void> | undefined;
  #notBefore = 0;
  #hasStopped = false;

  /** @param onFailure gets the error of a checkpoint, from this thread or the other. The next one is tried after a pause. */
  constructor(db: Database, onFailure: (error: unknown) => void) {
    this.#db = db;
    this.#onFailure = onFailure;
    db.pragma('wal_autocheckpoint = 0');
  }

  /** Whether a checkpoint is to be started, as of a look CHECKPOINT_LOOK_MS ago at most. */
  get isDue(): boolean {
    if (this.#hasStopped || this.#running !== undefined || performance.now() < this.#notBefore) return false;
    const isDue = this.#left('NOOP') >= CHECKPOINT_FRAMES;
    if (!isDue) this.#pause(CHECKPOINT_LOOK_MS);
    return isDue;
  }

  /** Starts a checkpoint of as many frames as readers allow. Call it if `isDue`. */
  start(mode: Mode = 'PASSIVE'): void {
    this.#running = this.#run(mode);
  }

  /**
   * Looks after the size of the WAL. A reader that stays open lets it grow for as long as events arrive. Once that has closed, it is
   * truncated even if no event arrives.
   * @param on whether it is above WAL_MAX_BYTES: then events are rejected, because the disk is for events.
   * @returns a function that stops it.
   */
  watch(on: (isOver: boolean) => void): () => void {
    // By name, never by opening it: closing the descriptor would drop SQLite's locks.
    const size = () => fs.statSync(`${this.#db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    return every(WAL_CHECK_MS, () => {
      if (size() > WAL_WARN_BYTES && !this.#hasStopped && this.#running === undefined) this.start('TRUNCATE');
      on(size() > WAL_MAX_BYTES);
    });
  }

  /**
   * After a failed sync, until the process has ended: the next one would succeed and prove nothing, and a checkpoint would empty a WAL
   * that is not on the disk (../../ARCHITECTURE.md#a-failed-fsync-is-final). One that runs in the thread ends: it copies what was synced.
   */
  stop(): void {
    this.#hasStopped = true;
  }

  /** @returns once the thread does not have the database open. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Runs a checkpoint. @returns how many frames are left to copy then; 0 if it fails. */
  #left(mode: Mode): number {
    try {
      return checkpoint(this.#db, mode).left;
    } catch (error) {
      this.#fail(error);
      return 0;
    }
  }

  /** @param mode for the frames that the thread has not copied. */
  async #run(mode: Mode): Promise<void> {
    const sql = 'PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(PASSIVE)';
    const failure = await runInThread(this.#db.name, sql);
    this.#running = undefined;
    if (failure !== undefined) this.#fail(failure);
    else if (!this.#hasStopped && this.#left(mode) > 0) this.#pause(CHECKPOINT_RETRY_MS);
  }

  #fail(error: unknown): void {
    this.#pause(CHECKPOINT_RETRY_MS);
    this.#onFailure(error);
  }

  #pause(ms: number): void {
    this.#notBefore = Math.max(this.#notBefore, performance.now() + ms);
  }
}
