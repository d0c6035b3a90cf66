import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { FULL_RETRY_MS } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';
import type { Unavailability } from '../../protocol/errors.ts';
import { Checkpointer, checkpoint } from '../db/checkpointer.ts';
import { freeBytes, withReserve } from '../db/diskReserve.ts';
import { type FailureKind, failureKind } from '../db/sqliteErrors.ts';
import type { EventKeys } from './keys.ts';

/** Pause after a step of a move that failed. */
const MOVE_RETRY_MS = 1_000;
/** Milliseconds without a failure before the log says that there is room again: on an almost full disk, small requests still fit. */
const FULL_QUIET_MS = 5_000;
/** Free space from which a full disk counts as having room again: a batch of 500 takes half of it. */
const FULL_ROOM_BYTES = 1024 ** 2;

/** What the daemon logs about a full disk. */
export interface DiskFullEvents {
  /** The disk is full. Once each time it fills up, not for each request. */
  full(error: unknown): void;
  /** For a while no write has failed, and there is free space again. */
  healed(): void;
}

interface MaintenanceEvents extends DiskFullEvents {
  /** A checkpoint or a move failed. */
  failed(error: unknown, kind: FailureKind): void;
}

/** The work between commits, which can be postponed: checkpoints, moves of keys to the file, and looks for room on a full disk. */
export class Maintenance {
  readonly checkpoints: Checkpointer;
  readonly #db: Database;
  readonly #keys: EventKeys;
  readonly #holds: ReadonlySet<Unavailability>;
  readonly #on: MaintenanceEvents;
  #moveFrom = 0;
  /** When a write last failed, in milliseconds of the monotonic clock; undefined while the disk is not full. */
  #fullAt: number | undefined;
  #stopLooking = () => {};

  /** @param holds why requests are rejected. If a prune does so on a full disk, the space that it frees is for its own commits. */
  constructor(db: Database, keys: EventKeys, holds: ReadonlySet<Unavailability>, on: MaintenanceEvents) {
    this.checkpoints = new Checkpointer(db, (error) => this.#checkpointFailed(error));
    this.#db = db;
    this.#keys = keys;
    this.#holds = holds;
    this.#on = on;
  }

  /** Whether `step` has work to do. */
  get isDue(): boolean {
    return this.checkpoints.isDue || this.#isMoveDue;
  }

  /** One checkpoint and one step of a move, if they are due. Call it between commits. */
  step(): void {
    if (this.checkpoints.isDue) this.checkpoints.step();
    if (!this.#isMoveDue) return;
    try {
      this.#keys.moveStep();
    } catch (error) {
      // The keys stay in memory, up to KEY_LIMITS.most of them, and each start reads them back: events are still stored.
      this.#moveFrom = performance.now() + MOVE_RETRY_MS;
      const kind = failureKind(error);
      if (kind === 'full') this.truncateWal();
      else this.#on.failed(error, kind);
    }
  }

  get #isMoveDue(): boolean {
    return !this.#holds.has('full') && this.#keys.isMoveDue && performance.now() >= this.#moveFrom;
  }

  /** Whether nothing is written to a full disk: once a second some requests are let through, so that it causes no load. */
  get isRefusing(): boolean {
    return this.#fullAt !== undefined && performance.now() - this.#fullAt < FULL_RETRY_MS;
  }

  /** Call it when a write failed because the disk is full (../../ARCHITECTURE.md#disk-full-is-not-final). */
  diskFull(error: unknown): void {
    if (this.#fullAt === undefined) {
      this.#on.full(error);
      this.#stopLooking = every(FULL_RETRY_MS, () => this.#lookForRoom());
    }
    this.#fullAt = performance.now();
  }

  #lookForRoom(): void {
    if (this.#holds.has('full') || performance.now() - this.#fullAt! < FULL_QUIET_MS) return;
    this.truncateWal();
    if (freeBytes(DataDirectory.of(this.#db.name)) < FULL_ROOM_BYTES) return;
    this.#stopLooking();
    this.#fullAt = undefined;
    this.#on.healed();
  }

  /**
   * Truncates the WAL, unless a reader needs it or the disk has no room even for that. The database may have to grow by the size of the
   * WAL first. On a full disk this keeps it no longer than what the reserve is sized for.
   */
  truncateWal(): void {
    try {
      withReserve(DataDirectory.of(this.#db.name), () => checkpoint(this.#db, 'TRUNCATE'));
    } catch (error) {
      if (failureKind(error) !== 'full') this.#checkpointFailed(error);
    }
  }

  /** Ends all of it: at a shutdown, and after a failed sync (Checkpointer.stop). */
  stop(): void {
    this.#moveFrom = Number.POSITIVE_INFINITY;
    this.#stopLooking();
    this.checkpoints.stop();
  }

  /** Without room for a checkpoint the WAL still takes events. With damaged pages it takes none: the next start looks for the damage. */
  #checkpointFailed(error: unknown): void {
    const kind = failureKind(error);
    if (kind === 'full') this.truncateWal();
    else this.#on.failed(error, kind === 'damaged' ? 'fatal' : kind);
  }
}
