import path from 'node:path';
import type { Database, Statement } from 'better-sqlite3';
import { BUSY_RETRY_MS } from '../../base/limits.ts';
import { freeBytes, reservedBytes, truncateWal } from '../directory/diskReserve.ts';
import { failureKind } from '../sqlite/errors.ts';
import { Checkpointer } from '../wal/checkpointer.ts';
import type { Appender } from './appender.ts';

/** After a step of it that failed, on a full disk; on a locked file it is BUSY_RETRY_MS. */
export const MAINTENANCE_RETRY_MS = 1_000;
/** A full disk has room again when so much is free: a batch of 500 takes half. */
const FULL_ROOM_BYTES = 1024 ** 2;

/** What cannot wait of what went wrong. */
export interface MaintenanceEvents {
  fatal(error: unknown): void;
  damaged(error: unknown): void;
  unexpected(error: unknown): void;
}

/** What the writer does between commits: checkpoints, and what is due of the appender. All of it can always wait. */
export class MaintenanceSteps {
  readonly checkpoints: Checkpointer;
  readonly #db: Database;
  readonly #directory: string;
  readonly #appender: Appender;
  readonly #noopWrite: Statement<[]>;
  readonly #on: MaintenanceEvents;
  #notBefore = 0;

  constructor(db: Database, appender: Appender, on: MaintenanceEvents) {
    this.checkpoints = new Checkpointer(db, (error) => this.#failed(error));
    this.#db = db;
    this.#directory = path.dirname(db.name);
    this.#noopWrite = db.prepare('UPDATE flushed SET up_to_seq = up_to_seq');
    this.#appender = appender;
    this.#on = on;
  }

  get isDue(): boolean {
    return this.checkpoints.isDue || this.#isAppenderDue();
  }

  step(): void {
    try {
      if (this.checkpoints.isDue) this.checkpoints.step();
      if (this.#isAppenderDue()) this.#appender.maintenanceStep();
    } catch (error) {
      const kind = failureKind(error);
      this.#notBefore = performance.now() + (kind === 'busy' ? BUSY_RETRY_MS : MAINTENANCE_RETRY_MS);
      // The keys stay in memory, as many as LIVE_KEYS_MAX, and are read back at each start: events are stored meanwhile.
      if (kind === 'damaged') this.#on.damaged(error);
      else this.#failed(error);
    }
  }

  /** Commits something that changes nothing. @returns whether that works, and there is room for more. */
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

  #isAppenderDue(): boolean {
    return this.#appender.isMaintenanceDue && performance.now() >= this.#notBefore;
  }

  /** On a full disk, or a locked file, nothing is lost: it is tried again. */
  #failed(error: unknown): void {
    const kind = failureKind(error);
    if (kind === 'fatal' || kind === 'damaged') this.#on.fatal(error);
    if (kind === 'full' && reservedBytes(this.#directory) > 0) this.#truncateWal();
    if (kind === 'unexpected') this.#on.unexpected(error);
  }

  /** So that the log of a full disk is never longer than what the reserve is for. */
  #truncateWal(): void {
    try {
      truncateWal(this.#db, this.#directory);
    } catch (error) {
      if (['fatal', 'damaged'].includes(failureKind(error))) this.#on.fatal(error);
    }
  }
}
