import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { BUSY_GIVE_UP_MS, BUSY_RETRY_MS, FULL_RETRY_MS, QUEUED_REQUESTS } from '../../base/limits.ts';
import { every } from '../../base/pause.ts';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { type Unavailability, unavailable } from '../../protocol/errors.ts';
import { Checkpointer, checkpoint } from '../db/checkpointer.ts';
import { freeBytes, withReserve } from '../db/diskReserve.ts';
import { GROUP_EVENTS, KEY_LIMITS } from '../db/sizes.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { Appender, type Counts, type ReceivedBatch } from './appender.ts';

/** Cameras that play send several times a second. */
const SERVING_MS = 1_000;
/** Between two steps of a move of keys: at the rate of 100 cameras they take a twentieth of the time. */
const MOVE_PAUSE_MS = 20;
/** Free space from which a full disk counts as having room again: a batch of 500 takes half of it. */
const FULL_ROOM_BYTES = 1024 ** 2;

/** What the daemon logs about the health of the store. */
export interface GroupCommitEvents {
  /** The disk is full. Once each time it fills up, not for each request. */
  full(error: unknown): void;
  /** There is free space again, and no write has just failed. */
  healed(): void;
  /** Nothing can be guaranteed any more: exit without closing the database (../../ARCHITECTURE.md#a-failed-fsync-is-final). */
  fatal(error: unknown): void;
  /** A part of the database cannot be read or written, and the requests that need it were rejected. */
  damaged(error: unknown): void;
  /** A bug: one request failed, the others of its group did not. */
  unexpected(error: unknown): void;
}

/** A request that waits for its commit. */
interface QueuedRequest extends ReceivedBatch {
  readonly resolve: (counts: Counts) => void;
  readonly reject: (problem: unknown) => void;
}

/**
 * Group commit (../../ARCHITECTURE.md#group-commit): the requests that are ready in the same turn of the
 * event loop share one transaction and one fsync, and are answered after it. Duplicates wait too: their
 * answer promises as much as any other (../../ARCHITECTURE.md#duplicates-wait-too). Checkpoints and moves of keys run between commits.
 */
export class GroupCommit {
  readonly appender: Appender;
  readonly checkpoints: Checkpointer;
  readonly #db: Database;
  readonly #on: GroupCommitEvents;
  #queue: QueuedRequest[] = [];
  #isScheduled = false;
  /** Whether keys have just been moved. */
  #isResting = false;
  /** How often a lock was met since the last commit. */
  #locksMet = 0;
  /** Why requests are rejected, until it is lifted. */
  readonly holds = new Set<Unavailability>();
  #isFull = false;
  /** When a write last found the disk full, in milliseconds of the monotonic clock. */
  #fullAt = Number.NEGATIVE_INFINITY;

  /** @param beforeCommit as in Appender. */
  constructor(db: Database, on: GroupCommitEvents, beforeCommit?: () => void) {
    this.#db = db;
    this.#on = on;
    this.appender = new Appender(db, beforeCommit);
    this.checkpoints = new Checkpointer(db, (error) => this.#checkpointFailed(error));
  }

  /** @returns the counts, after the commit has been fsynced. @throws {Problem} 503 if the events are not stored. */
  append(events: readonly CourtEvent[]): Promise<Counts> {
    return new Promise((resolve, reject) => {
      // Even if it is rejected: what it waits for may be done in a turn.
      this.schedule();
      const reason = this.#queue.length >= QUEUED_REQUESTS ? 'overloaded' : this.#refusal;
      if (reason !== undefined) return reject(unavailable(reason));
      this.#queue.push({ events, receivedMs: Date.now(), resolve, reject });
    });
  }

  /** Why no request is stored now. */
  get #refusal(): Unavailability | undefined {
    const [held] = this.holds;
    if (held !== undefined) return held;
    if (this.appender.keys.count >= KEY_LIMITS.most) return 'behind';
    return performance.now() - this.#fullAt < FULL_RETRY_MS ? 'full' : undefined;
  }

  /** Requests that wait for a commit. */
  get queued(): number {
    return this.#queue.length;
  }

  /** Whether requests have been committed within the last second. */
  get isServing(): boolean {
    return performance.now() - this.appender.committedAt < SERVING_MS;
  }

  /**
   * Commits what is not a request, such as a step of retention, in its own transaction. Call it between two groups: not in a transaction.
   * @throws {SqliteError} if it was rolled back, and {Problem} 503 if nothing is written any more.
   */
  step(work: () => void): void {
    if (this.hasFailed) throw unavailable('failed');
    try {
      this.#db.transaction(work).immediate();
    } catch (error) {
      this.#failed(error);
      throw error;
    }
    this.schedule();
  }

  /** A step that may fail. @returns whether it is on disk. */
  aside(work: () => void): boolean {
    try {
      this.step(work);
      return true;
    } catch {
      return false;
    }
  }

  /** Rejects all requests from now on. @returns once the queued ones have been answered. */
  async close(): Promise<void> {
    this.holds.add('shuttingDown');
    this.checkpoints.stop();
    while (this.#queue.length > 0) await sleep(BUSY_RETRY_MS);
  }

  /** Commits and runs the maintenance that is due, after this turn: so all requests that become ready in it join the group. */
  schedule(start: (turn: () => void) => void = setImmediate): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    start(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    if (this.checkpoints.isDue) this.checkpoints.start();
    const { keys } = this.appender;
    const isLate = keys.count >= 2 * KEY_LIMITS.move;
    // While no request waits, until they are too many. If it fails they stay in memory, and each start reads them back.
    const mayMove = isLate || (this.#queue.length === 0 && !this.#isResting);
    if (mayMove && keys.isMoveDue && (this.#refusal ?? 'behind') === 'behind')
      this.#moveKeys(isLate ? GROUP_EVENTS : undefined);
    let [events, end] = [0, 0];
    while (end < this.#queue.length && events < GROUP_EVENTS) events += this.#queue[end++]!.events.length;
    if (end > 0) this.#commit(this.#queue.splice(0, end));
    if (this.#queue.length > 0 || this.checkpoints.isDue || (end > 0 && keys.isMoveDue)) this.schedule();
  }

  /** Moves keys to the file, and rests: a request that arrives in several turns would meet a step in each. */
  #moveKeys(most?: number): void {
    if (!this.aside(() => this.appender.keys.moveStep(most))) return;
    this.#isResting = true;
    setTimeout(() => {
      this.#isResting = false;
      this.schedule();
    }, MOVE_PAUSE_MS);
  }

  /** @returns whether they have been answered: if somebody holds a lock, they wait in the queue. */
  #commit(group: readonly QueuedRequest[]): boolean {
    try {
      const counts = this.appender.commit(group);
      this.#locksMet = 0;
      for (const [i, request] of group.entries()) request.resolve(counts[i]!);
      return true;
    } catch (error) {
      return this.#groupFailed(group, error);
    }
  }

  #groupFailed(group: readonly QueuedRequest[], error: unknown): boolean {
    const kind = failureKind(error);
    if (kind === 'busy') {
      this.#retryLater(group);
      return false;
    }
    if (group.length === 1 || kind === 'full' || kind === 'fatal') {
      this.#failed(error);
      const reason = kind === 'unexpected' ? error : unavailable(kind === 'fatal' ? 'failed' : kind);
      for (const { reject } of group) reject(reason);
      return true;
    }
    // One request of the group caused it: each gets its own transaction, so that only that one fails.
    for (const [i, request] of group.entries()) {
      const reason = this.#refusal;
      if (reason !== undefined) request.reject(unavailable(reason));
      else if (!this.#commit([request])) {
        this.#queue.splice(1, 0, ...group.slice(i + 1));
        return false;
      }
    }
    return true;
  }

  /** On a timer, because waiting inside SQLite would block the event loop. */
  #retryLater(group: readonly QueuedRequest[]): void {
    this.#queue.unshift(...group);
    if (++this.#locksMet <= BUSY_GIVE_UP_MS / BUSY_RETRY_MS)
      return this.schedule((turn) => setTimeout(turn, BUSY_RETRY_MS));
    this.#locksMet = 0;
    for (const { reject } of this.#queue.splice(0)) reject(unavailable('busy'));
  }

  /** Reports a failure, unless it passes by itself. */
  #failed(error: unknown): void {
    const kind = failureKind(error);
    if (kind === 'fatal') this.fail(error);
    else if (kind === 'full') this.#diskFull(error);
    else if (kind !== 'busy') this.#on[kind](error);
  }

  /** Without room for a checkpoint the WAL still takes events. With damaged pages it takes none: the next start looks for the damage. */
  #checkpointFailed(error: unknown): void {
    const kind = failureKind(error);
    if (kind === 'damaged') this.fail(error);
    else if (kind !== 'full') this.#failed(error);
  }

  /** Call it after an I/O error, wherever it occurred: no request is answered 202 any more. */
  fail(error: unknown): void {
    if (this.hasFailed) return;
    this.holds.add('failed');
    this.checkpoints.stop();
    for (const { reject } of this.#queue.splice(0)) reject(unavailable('failed'));
    this.#on.fatal(error);
  }

  /** Whether nothing can be guaranteed any more. */
  get hasFailed(): boolean {
    return this.holds.has('failed');
  }

  /** Requests are rejected for a while (../../ARCHITECTURE.md#disk-full-is-not-final). */
  #diskFull(error: unknown): void {
    this.#fullAt = performance.now();
    if (this.#isFull) return;
    this.#isFull = true;
    this.#on.full(error);
    const stopLooking = every(FULL_RETRY_MS, () => {
      // The space that a prune frees is for its own commits.
      if (this.holds.size > 0) return;
      this.truncateWal();
      if (this.#refusal !== undefined || freeBytes(DataDirectory.of(this.#db.name)) < FULL_ROOM_BYTES) return;
      stopLooking();
      this.#isFull = false;
      this.#on.healed();
    });
  }

  /** Truncates the WAL, unless a reader needs it or the disk has no room even for that: the database may have to grow by as much. */
  truncateWal(): void {
    if (this.hasFailed) return;
    try {
      withReserve(DataDirectory.of(this.#db.name), () => checkpoint(this.#db, 'TRUNCATE'));
    } catch (error) {
      this.#checkpointFailed(error);
    }
  }
}
