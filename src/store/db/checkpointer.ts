import type { Database, Statement } from 'better-sqlite3';
import { CHECKPOINT_FRAMES, INLINE_CHECKPOINT_FRAMES } from './sizes.ts';
import { runInThread } from './statementThread.ts';

/** Pause after a checkpoint that a reader kept from completing, or that failed. */
const CHECKPOINT_RETRY_MS = 1_000;
/** Pause after a look that found nothing to do. A look takes 1 µs, and 20 µs if the processor's caches have forgotten it. */
const CHECKPOINT_LOOK_MS = 5;

/**
 * A row of `PRAGMA wal_checkpoint`: the frames in the WAL, and how many of them are in the database file
 * already.
 */
export interface WalState {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * The same as a list. SQLite compiles a PRAGMA again for each run, and for a row as an object better-sqlite3
 * would then compile a function too: 4 % of a request if a sync takes 5 ms.
 */
type WalStateRow = [busy: number, log: number, checkpointed: number];

/**
 * Checkpoints the WAL between commits. SQLite's automatic checkpoints are off, because they
 * - hide I/O errors: a checkpoint that got EIO was followed by one `202` after another;
 * - run inside a commit, so that its requests wait for them;
 * - copy all frames at once. After a long reader that blocks the event loop: 0.2 s for 130 MB, 1.5 s for 440 MB.
 *
 * A short checkpoint runs here, after the answers have left. A long one runs in a worker thread with its own connection, and commits
 * continue meanwhile. The frames that arrive then make a short one again, and only when
 * that completes does SQLite reuse the WAL from its start.
 */
export class Checkpointer {
  readonly #file: string;
  readonly #onFailure: (error: unknown) => void;
  readonly #modes: Readonly<Record<'NOOP' | 'PASSIVE' | 'TRUNCATE', Statement<[], WalStateRow>>>;
  #worker: Promise<void> | undefined;
  #notBefore = 0;
  #hasStopped = false;

  /**
   * @param onFailure gets the error of a checkpoint, from this thread or the worker. The next checkpoint is
   * tried after a pause.
   */
  constructor(db: Database, onFailure: (error: unknown) => void) {
    this.#file = db.name;
    this.#onFailure = onFailure;
    db.pragma('wal_autocheckpoint = 0');
    const prepare = (mode: string) =>
      db.prepare<[], WalStateRow>(`PRAGMA main.wal_checkpoint(${mode})`).raw();
    this.#modes = { NOOP: prepare('NOOP'), PASSIVE: prepare('PASSIVE'), TRUNCATE: prepare('TRUNCATE') };
  }

  /** Whether `step` has work to do, as of a look CHECKPOINT_LOOK_MS ago at most. */
  get isDue(): boolean {
    if (this.#hasStopped || this.#worker !== undefined || performance.now() < this.#notBefore) return false;
    const isDue = this.#left('NOOP') >= CHECKPOINT_FRAMES;
    if (!isDue) this.#pause(CHECKPOINT_LOOK_MS);
    return isDue;
  }

  /** Checkpoints as many frames as readers allow. Call it between transactions, if `isDue`. */
  step(): void {
    if (this.#left('NOOP') > INLINE_CHECKPOINT_FRAMES) this.#worker = this.#runInWorker();
    else if (this.#left('PASSIVE') > 0) this.#pause(CHECKPOINT_RETRY_MS);
  }

  /** Truncates the WAL, if no reader needs it and few frames are left to copy. */
  truncate(): void {
    if (!this.#hasStopped && this.#left('NOOP') <= INLINE_CHECKPOINT_FRAMES) this.#left('TRUNCATE');
  }

  /**
   * After a failed sync, until the process has ended: the next one would succeed and prove nothing, and a checkpoint would empty a WAL
   * that is not on the disk (../../ARCHITECTURE.md#a-failed-fsync-is-final).
   */
  stop(): void {
    this.#hasStopped = true;
  }

  /** @returns once no worker thread has the database open. */
  async idle(): Promise<void> {
    await this.#worker;
  }

  /** Runs a checkpoint. @returns how many frames are left to copy then, because a reader keeps them; 0 if it fails. */
  #left(mode: 'NOOP' | 'PASSIVE' | 'TRUNCATE'): number {
    try {
      const [, log, checkpointed] = this.#modes[mode].get()!;
      return log - checkpointed;
    } catch (error) {
      this.#fail(error);
      return 0;
    }
  }

  /**
   * Not if a sync fails before the thread has the WAL open: it would not see that, and the sync of its checkpoint would succeed. A
   * failure after that fails its own sync, too.
   */
  async #runInWorker(): Promise<void> {
    const statement = {
      file: this.#file,
      // The second opens the WAL.
      pragmas: ['synchronous = FULL', 'wal_checkpoint(NOOP)'],
      sql: 'PRAGMA wal_checkpoint(PASSIVE)',
    };
    const failure = await runInThread(statement, () => !this.#hasStopped);
    this.#worker = undefined;
    if (failure !== undefined) this.#fail(failure);
    else if (this.#left('NOOP') > INLINE_CHECKPOINT_FRAMES) this.#pause(CHECKPOINT_RETRY_MS);
  }

  #fail(error: unknown): void {
    this.#pause(CHECKPOINT_RETRY_MS);
    this.#onFailure(error);
  }

  #pause(ms: number): void {
    this.#notBefore = Math.max(this.#notBefore, performance.now() + ms);
  }
}
