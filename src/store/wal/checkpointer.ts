import type { Database, Statement } from 'better-sqlite3';
import { runWorker, workerFile } from '../sqlite/workerThread.ts';

/**
 * Frames (pages) in the log from which it is brought into the file after a commit, and how many of them in the daemon's
 * own thread: 16 MiB, which took 40 ms. More take a thread of their own (checkpointer.ts).
 */
const CHECKPOINT_FRAMES = 1_000;
const CHECKPOINT_BESIDE_FRAMES = 4_000;
/** After one that a reader kept from coming to its end, in the daemon's own thread or in one of its own, or that failed. */
const CHECKPOINT_AGAIN_MS = { short: 200, long: 2_000 } as const;

/** What `PRAGMA wal_checkpoint` answers: frames (pages) in the log, and how many of them are in the file already. */
export interface LogState {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * Brings the write-ahead log into the file between commits. SQLite's own automatic checkpoints are off, because they
 * - keep to themselves that the disk failed: a checkpoint that got EIO was followed by `202` after `202`;
 * - come inside a commit, so that its requests wait for them;
 * - take all that there is. After a long reader that stops the event loop: 0.2 s for 130 MB, 1.5 s for 440 MB.
 *
 * So a short one runs here, after the answers have left. A long one runs in a thread with a connection of its own, beside
 * which commits go on; what came meanwhile is short again, and only with that brought in too does the log start anew.
 */
export class Checkpointer {
  readonly #file: string;
  readonly #failed: (error: unknown) => void;
  readonly #look: Statement<[], LogState>;
  readonly #passive: Statement<[], LogState>;
  readonly #truncate: Statement<[], LogState>;
  #beside: Promise<void> | undefined;
  #notBefore = 0;

  /** @param failed is told what went wrong, here or in the thread; a checkpoint can be tried again. */
  constructor(db: Database, failed: (error: unknown) => void) {
    this.#file = db.name;
    this.#failed = failed;
    db.pragma('wal_autocheckpoint = 0');
    this.#look = db.prepare('PRAGMA main.wal_checkpoint(NOOP)');
    this.#passive = db.prepare('PRAGMA main.wal_checkpoint(PASSIVE)');
    this.#truncate = db.prepare('PRAGMA main.wal_checkpoint(TRUNCATE)');
  }

  /** Whether `step` has something to do. A look costs 10 µs. */
  get isDue(): boolean {
    if (this.#beside !== undefined || performance.now() < this.#notBefore) return false;
    const { log, checkpointed } = this.#state();
    return log >= CHECKPOINT_FRAMES && checkpointed < log;
  }

  /** Checkpoints as far as readers let it. Call it between transactions. */
  step(): void {
    if (this.#beside !== undefined) return;
    if (!this.#isShort()) this.#beside = this.#runBeside();
    else if (this.#run(this.#passive) === 'behind') this.#pause(CHECKPOINT_AGAIN_MS.short);
  }

  /** Cuts the log off, if no reader needs it any more and little is left to bring in. */
  cutOff(): void {
    if (this.#beside === undefined && this.#isShort()) this.#run(this.#truncate);
  }

  /** @returns when no thread uses the database. */
  async ended(): Promise<void> {
    await this.#beside;
  }

  #isShort(): boolean {
    const { log, checkpointed } = this.#state();
    return log - checkpointed <= CHECKPOINT_BESIDE_FRAMES;
  }

  #state(): LogState {
    try {
      return this.#look.get()!;
    } catch (error) {
      this.#fail(error);
      return { busy: 1, log: 0, checkpointed: 0 };
    }
  }

  /** @returns 'behind' where a reader keeps frames from being brought in. */
  #run(checkpoint: Statement<[], LogState>): 'done' | 'behind' {
    try {
      const { log, checkpointed } = checkpoint.get()!;
      return log === checkpointed ? 'done' : 'behind';
    } catch (error) {
      this.#fail(error);
      return 'behind';
    }
  }

  async #runBeside(): Promise<void> {
    const failure = await runWorker(workerFile('checkpointWorker', import.meta.url), this.#file);
    this.#beside = undefined;
    if (failure !== undefined) this.#fail(failure);
    else if (!this.#isShort()) this.#pause(CHECKPOINT_AGAIN_MS.long);
  }

  #fail(error: unknown): void {
    this.#pause(CHECKPOINT_AGAIN_MS.long);
    this.#failed(error);
  }

  #pause(ms: number): void {
    this.#notBefore = performance.now() + ms;
  }
}
