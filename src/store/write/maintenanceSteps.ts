import type { Database, Statement } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { BUSY_RETRY_MS } from '../../base/limits.ts';
import { Checkpointer } from '../db/checkpointer.ts';
import { freeBytes, reservedBytes, truncateWal } from '../db/diskReserve.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import type { DiskFull } from './diskFull.ts';
import type { EventKeys } from './keys.ts';

/** Pause after a step of a move that failed; BUSY_RETRY_MS if the database was locked. */
export const MAINTENANCE_RETRY_MS = 1_000;
/** Free space from which a full disk counts as having room again: a batch of 500 takes half of it. */
const FULL_ROOM_BYTES = 1024 ** 2;

/** Failures that must be reported at once. */
interface MaintenanceEvents {
  fatal(error: unknown): void;
  damaged(error: unknown): void;
  unexpected(error: unknown): void;
}

/** The work between commits: checkpoints, and moves of keys to the file. It can be postponed. */
export class MaintenanceSteps {
  readonly checkpoints: Checkpointer;
  readonly #db: Database;
  readonly #directory: DataDirectory;
  readonly #keys: EventKeys;
  readonly #noopWrite: Statement<[]>;
  readonly #on: MaintenanceEvents;
  readonly #full: Pick<DiskFull, 'isFull'>;
  #notBefore = 0;

  /** @param full while it is full, keys stay in memory: the space that a prune frees is for its own commits. */
  constructor(db: Database, keys: EventKeys, full: Pick<DiskFull, 'isFull'>, on: MaintenanceEvents) {
    this.checkpoints = new Checkpointer(db, (error) => this.#failed(error));
    this.#db = db;
    this.#directory = DataDirectory.of(db.name);
    this.#noopWrite = db.prepare('UPDATE flushed SET up_to = up_to');
    this.#keys = keys;
    this.#full = full;
    this.#on = on;
  }

  /** Whether `step` has work to do. */
  get isDue(): boolean {
    return this.checkpoints.isDue || this.#isMoveDue;
  }

  /** One checkpoint and one step of a move, if they are due. Call it between commits; failures go to `on`. */
  step(): void {
    try {
      if (this.checkpoints.isDue) this.checkpoints.step();
      if (this.#isMoveDue) this.#keys.moveStep();
    } catch (error) {
      const kind = failureKind(error);
      this.#notBefore = performance.now() + (kind === 'busy' ? BUSY_RETRY_MS : MAINTENANCE_RETRY_MS);
      // The keys stay in memory, up to KeyLimits.most of them, and each start reads them back: events are
      // still stored.
      if (kind === 'damaged') this.#on.damaged(error);
      else this.#failed(error);
    }
  }

  /**
   * Commits a write that changes nothing.
   * @returns whether that succeeded and there is free space for more.
   */
  hasRoom(): boolean {
    try {
      if (freeBytes(this.#directory) < FULL_ROOM_BYTES) return false;
      this.#noopWrite.run();
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  /**
   * Truncates the WAL, unless a reader needs it or the disk has no room even for that. On a full disk this keeps it no longer than
   * what the reserve is sized for.
   */
  truncateWal(): void {
    try {
      truncateWal(this.#db, this.#directory);
    } catch (error) {
      if (['fatal', 'damaged'].includes(failureKind(error))) this.#on.fatal(error);
    }
  }

  get #isMoveDue(): boolean {
    return !this.#full.isFull && this.#keys.isMoveDue && performance.now() >= this.#notBefore;
  }

  /** A full disk or a locked database loses nothing: the step is repeated. */
  #failed(error: unknown): void {
    const kind = failureKind(error);
    if (kind === 'fatal' || kind === 'damaged') this.#on.fatal(error);
    if (kind === 'full' && reservedBytes(this.#directory) > 0) this.truncateWal();
    if (kind === 'unexpected') this.#on.unexpected(error);
  }
}
