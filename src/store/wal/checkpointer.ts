import type { Database, Statement } from 'better-sqlite3';
import { runWorker, workerFile } from '../sqlite/workerThread.ts';

/**
 * Frames (pages) in the log from which it is brought into the file after a commit, and how many of them in the daemon's
 * own thread: 16 MiB, which took 40 ms. More take a thread of their own (checkpointer.ts).
 */
const CHECKPOINT_FRAMES = 1_000;
const INLINE_CHECKPOINT_FRAMES = 4_000;
/** After one that a reader kept from coming to its end, in the daemon's own thread or in one of its own, or that onFailure. */
const CHECKPOINT_RETRY_MS = { short: 200, long: 2_000 } as const;

/** What `PRAGMA wal_checkpoint` answers: frames (pages) in the log, and how many of them are in the file already. */
export interface WalState {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * Brings the write-ahead log into the file between commits. SQLite's own automatic checkpoints are off, because they
 * - keep to themselves that the disk onFailure: a checkpoint that got EIO was followed by `202` after `202`;
 * - come inside a commit, so that its requests wait for them;
 * - take all that there is. After a long reader that stops the event loop: 0.2 s for 130 MB, 1.5 s for 440 MB.
 *
 * So a short one runs here, after the answers have left. A long one runs in a thread with a connection of its own, beside
 * which commits go on; what came meanwhile is short again, and only with that brought in too does the log start anew.
 */
export class Checkpointer {
  readonly #file: string;
  readonly #onFailure: (error: unknown) => void;
  readonly #noop: Statement<[], WalState>;
  readonly #passive: Statement<[], WalState>;
  readonly #truncate: Statement<[], WalState>;
  #worker: Promise<void> | undefined;
  #notBefore = 0;

  /** @param onFailure is told what went wrong, here or in the thread; a checkpoint can be tried again. */
  constructor(db: Database, onFailure: (error: unknown) => void) {
    this.#file = db.name;
    this.#onFailure = onFailure;
    db.pragma('wal_autocheckpoint = 0');
    this.#noop = db.prepare('PRAGMA main.wal_checkpoint(NOOP)');
    this.#passive = db.prepare('PRAGMA main.wal_checkpoint(PASSIVE)');
    this.#truncate = db.prepare('PRAGMA main.wal_checkpoint(TRUNCATE)');
  }

  /** Whether `step` has something to do. A look costs 10 µs. */
  get isDue(): boolean {
    if (this.#worker !== undefined || performance.now() < this.#notBefore) return false;
    const { log, checkpointed } = this.#state();
    return log >= CHECKPOINT_FRAMES && checkpointed < log;
  }

  /** Checkpoints as far as readers let it. Call it between transactions. */
  step(): void {
    if (this.#worker !== undefined) return;
    if (!this.#isShort()) this.#worker = this.#runInWorker();
    else if (this.#run(this.#passive) === 'incomplete') this.#pause(CHECKPOINT_RETRY_MS.short);
  }

  /** Cuts the log off, if no reader needs it any more and little is left to bring in. */
  truncate(): void {
    if (this.#worker === undefined && this.#isShort()) this.#run(this.#truncate);
  }

  /** @returns when no thread uses the database. */
  async idle(): Promise<void> {
    await this.#worker;
  }

  #isShort(): boolean {
    const { log, checkpointed } = this.#state();
    return log - checkpointed <= INLINE_CHECKPOINT_FRAMES;
  }

  #state(): WalState {
    try {
      return this.#noop.get()!;
    } catch (error) {
      this.#fail(error);
      return { busy: 1, log: 0, checkpointed: 0 };
    }
  }

  /** @returns 'incomplete' where a reader keeps frames from being brought in. */
  #run(checkpoint: Statement<[], WalState>): 'done' | 'incomplete' {
    try {
      const { log, checkpointed } = checkpoint.get()!;
      return log === checkpointed ? 'done' : 'incomplete';
    } catch (error) {
      this.#fail(error);
      return 'incomplete';
    }
  }

  async #runInWorker(): Promise<void> {
    const failure = await runWorker(workerFile('checkpointWorker', import.meta.url), this.#file);
    this.#worker = undefined;
    if (failure !== undefined) this.#fail(failure);
    else if (!this.#isShort()) this.#pause(CHECKPOINT_RETRY_MS.long);
  }

  #fail(error: unknown): void {
    this.#pause(CHECKPOINT_RETRY_MS.long);
    this.#onFailure(error);
  }

  #pause(ms: number): void {
    this.#notBefore = performance.now() + ms;
  }
}
