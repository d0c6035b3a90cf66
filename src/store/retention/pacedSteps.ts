import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { HOUR_MS } from '../../base/units.ts';
import { fillReserve, releaseReserve } from '../directory/diskReserve.ts';
import { failureKind } from '../sqlite/errors.ts';
import type { WalState } from '../wal/checkpointer.ts';

/** How long one transaction may take, so that no request waits for long (../erasure/DESIGN.md has what longer ones cost). */
export const STEP_MS = 0.5;
/** Events or names that one transaction deletes at most. */
export const STEP_ROWS = 200;
/** Rows that a prune reads with one query: half a millisecond, with what it does with them. */
export const READ_ROWS = 100;
/** Frames in the WAL at which a prune waits until all of them have been copied, which a reader may keep from happening: 16 MiB. */
const WAL_FRAMES_MAX = 4_000;
/** Pause after each step: at least, and at most. `busy`: on a locked database. */
const PAUSE_MS = { least: 2, most: 1_000, busy: 5 } as const;
/**
 * The pause, as a multiple of what the step took. While requests come, few of them meet a step, or the disk while it takes what a step
 * has changed (../erasure/DESIGN.md): reading changes nothing. Pages all over the file take it twice as long.
 */
const PAUSES = { read: 2, alone: 2, beside: 40, besideScattered: 80 } as const;
/** Attempts at one step: on a locked database after a pause, on a full disk after freeing space. */
const ATTEMPTS = { busy: 1_000, full: 4 } as const;
/** Between two attempts on a full disk: a reader reads for a few milliseconds at a time. */
const FULL_PAUSE_MS = 100;
/** A checkpoint of the writer's own may be on its way: what lasts longer than so many waits is a reader. */
const OWN_WAITS = 10;
const READER_WAIT_MS = 100;

/** The writer of events, which runs the steps between its commits (../write/groupCommit.ts). */
export interface StepWriter {
  /** Commits a step, of pages all over the file or of neighbours. @throws {SqliteError} where it was rolled back. */
  step(work: () => void, isScattered?: boolean): void;
  /** Whether requests have come within the last second. */
  readonly isServing: boolean;
  /** Whether nobody else can have the database open: then nobody has to be made room for. */
  readonly isAlone?: boolean;
  /** Forgets the ids of names: some have been deleted. */
  forgetNames(): void;
  /** The ledger of erasures has changed: what comes is compared with it. */
  readErasures(): void;
  /** Runs the checkpoint that is due. */
  maintain(): void;
  /** @returns once few frames of the WAL are left to copy, so that truncating it is short. */
  walCopied(): Promise<void>;
  /** Truncates the WAL, unless a reader needs it or the disk has no room even for that. */
  truncateWal(): void;
  /** Refuses events, as on a full disk, or takes them again: what a prune frees is for its own commits. */
  holdForPrune(isHeld: boolean): void;
}

/** Runs the short transactions of a prune or an erasure beside ingest: with pauses, waiting for long readers, and on a full disk. */
export class PacedSteps {
  readonly #db: Database;
  readonly #directory: DataDirectory;
  readonly #writer: StepWriter;
  readonly #onWait: () => void;
  readonly #signal: AbortSignal | undefined;
  readonly #startedAt = performance.now();
  #isDiskFull = false;
  /** Whether the steps from now on change pages all over the file. Those of most prunes free neighbours. */
  isScattered = false;

  /**
   * @param onWait called repeatedly while the steps wait for another program that keeps reading.
   * @param signal ends the prune at its next pause.
   */
  constructor(db: Database, writer: StepWriter, onWait: () => void, signal?: AbortSignal) {
    this.#db = db;
    this.#directory = DataDirectory.of(db.name);
    this.#writer = writer;
    this.#onWait = onWait;
    this.#signal = signal;
  }

  /** Whether the disk is full and the reserve released. */
  get isDiskFull(): boolean {
    return this.#isDiskFull;
  }

  /**
   * Runs one transaction, then pauses.
   * @param committed is called between the two.
   * @returns how long it took, in milliseconds.
   * @throws {SqliteError} after the last attempt.
   */
  async run(work: () => void, committed = () => {}): Promise<number> {
    await this.#waitForReaders();
    return this.#attempt(() => {
      this.#writer.step(work, this.isScattered);
      committed();
    });
  }

  /**
   * Works through a list in transactions of at most STEP_MS.
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
      await this.run(
        () => {
          next = at;
          const until = performance.now() + STEP_MS;
          committed = work(
            (function* () {
              while (next < items.length && next - at < most) {
                yield items[next++]!;
                if (performance.now() > until) return;
              }
            })(),
          );
        },
        () => committed(),
      );
      at = next;
    }
  }

  /** @yields what a generator does that reads half a millisecond at a time, with a pause after each read. */
  async *paced<Item>(items: Generator<Item>): AsyncGenerator<Item> {
    for (;;) {
      const startedAt = performance.now();
      const { done, value } = items.next();
      if (done) return;
      await this.#pause(PAUSES.read * (performance.now() - startedAt));
      yield value;
    }
  }

  /**
   * Truncates the WAL, which shrinks the file by the pages that were returned. On a disk that was full it
   * refills the reserve, and takes events again where there is space for all of it.
   */
  async checkpoint(): Promise<void> {
    if (!this.#isDiskFull) await this.#writer.walCopied();
    this.#writer.truncateWal();
    if (this.#isDiskFull && fillReserve(this.#directory)) this.#setDiskFull(false);
  }

  /**
   * Call it at the end, however that came about. Where the prune was ended in the middle, its deletes are in a WAL of some
   * mebibytes: as long as that is not truncated, the reserve cannot be whole, and events fill what the next prune needs.
   */
  end(): void {
    if (!this.#isDiskFull) return;
    this.#writer.truncateWal();
    fillReserve(this.#directory);
    this.#setDiskFull(false);
  }

  async #attempt(work: () => void): Promise<number> {
    for (let [busy, full] = [1, 1]; ; ) {
      const startedAt = performance.now();
      try {
        work();
        const tookMs = performance.now() - startedAt;
        await this.#pause(this.#pauses * tookMs);
        return tookMs;
      } catch (error) {
        const kind = failureKind(error);
        if (kind === 'busy' && busy++ < ATTEMPTS.busy) await this.#sleep(PAUSE_MS.busy);
        else if (kind === 'full' && full++ < ATTEMPTS.full) {
          this.#freeSpace();
          // A reader may have kept the WAL from being truncated just now.
          await this.#sleep(FULL_PAUSE_MS);
        } else throw error;
      }
    }
  }

  /**
   * The pause, as a multiple of a step. Beside requests it is a half of it in the second hour, a third in the third: in a venue that
   * sends day and night more falls due than the steps of the first hour delete, and the disk would fill up.
   */
  get #pauses(): number {
    if (!this.#writer.isServing) return PAUSES.alone;
    const beside = this.isScattered ? PAUSES.besideScattered : PAUSES.beside;
    const hours = Math.floor((performance.now() - this.#startedAt) / HOUR_MS);
    return Math.max(PAUSES.alone, beside / (1 + hours));
  }

  #pause(ms: number): Promise<void> {
    // Signals are handled between two turns of the event loop.
    if (this.#writer.isAlone) return setImmediate();
    return this.#sleep(Math.min(Math.max(PAUSE_MS.least, ms), PAUSE_MS.most));
  }

  #sleep(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.#signal });
  }

  #freeSpace(): void {
    if (!this.#isDiskFull) {
      this.#setDiskFull(true);
      releaseReserve(this.#directory);
    }
    // Frees more space than the database file may grow by.
    this.#writer.truncateWal();
  }

  #setDiskFull(isFull: boolean): void {
    this.#isDiskFull = isFull;
    this.#writer.holdForPrune(isFull);
  }

  /**
   * While a reader stays open, whatever is written stays in the WAL, until events are refused. So the prune
   * waits instead; also for a checkpoint that is slower than its steps, since the WAL begins anew only when all of it has been copied.
   */
  async #waitForReaders(): Promise<void> {
    const isLong = () => {
      const [{ log, checkpointed }] = this.#db.pragma('wal_checkpoint(NOOP)') as [WalState];
      return log >= WAL_FRAMES_MAX && checkpointed < log;
    };
    for (let waits = 0; isLong(); waits++) {
      if (waits >= OWN_WAITS) this.#onWait();
      this.#writer.maintain();
      await sleep(READER_WAIT_MS, undefined, { signal: this.#signal });
    }
  }
}
