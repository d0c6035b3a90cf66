import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Transaction } from 'better-sqlite3';
import { BUSY_GIVE_UP_MS, BUSY_RETRY_MS, QUEUED_REQUESTS } from '../../base/limits.ts';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { type Unavailability, unavailable } from '../../protocol/errors.ts';
import { GROUP_EVENTS, KEY_LIMITS } from '../db/sizes.ts';
import { type FailureKind, failureKind } from '../db/sqliteErrors.ts';
import { Appender, type Counts, type ReceivedBatch } from './appender.ts';
import { type DiskFullEvents, Maintenance } from './maintenance.ts';

/** Cameras that play send several times a second. */
const SERVING_MS = 1_000;

/** What the daemon logs about the health of the store. */
export interface GroupCommitEvents extends DiskFullEvents {
  /** Nothing can be guaranteed any more: exit without closing the database (../../ARCHITECTURE.md#a-failed-fsync-is-final). */
  fatal(error: unknown): void;
  /** A part of the database cannot be read or written, and the requests that need it were rejected. */
  damaged(error: unknown): void;
  /** A bug: one request failed, the others of its group did not. */
  unexpected(error: unknown): void;
}

/** Of the successful group commits of this process. */
export interface CommitTotals {
  commits: number;
  requests: number;
  /** From BEGIN to the end of COMMIT. */
  seconds: number;
  /** Of COMMIT alone: writing and syncing the WAL. */
  syncSeconds: number;
}

/** A request that waits for its commit. */
interface QueuedRequest extends ReceivedBatch {
  readonly resolve: (counts: Counts) => void;
  readonly reject: (problem: unknown) => void;
}

/**
 * Group commit (../../ARCHITECTURE.md#group-commit): the requests that are ready in the same turn of the
 * event loop share one transaction and one fsync, and are answered after it. Duplicates wait too: their
 * answer promises as much as any other (../../ARCHITECTURE.md#duplicates-wait-too).
 */
export class GroupCommit {
  readonly totals: CommitTotals = { commits: 0, requests: 0, seconds: 0, syncSeconds: 0 };
  readonly appender: Appender;
  readonly maintenance: Maintenance;
  readonly #on: GroupCommitEvents;
  readonly #beforeCommit: () => void;
  readonly #commitGroup: Transaction<(group: QueuedRequest[]) => Counts[]>;
  readonly #commitAside: Transaction<(write: () => void) => void>;
  #queue: QueuedRequest[] = [];
  /** How many requests at the head of the queue are to be committed one by one. */
  #soloCommits = 0;
  #isScheduled = false;
  /** How often a lock was met since the last commit. */
  #locksMet = 0;
  /** Whether nothing can be guaranteed any more. */
  hasFailed = false;
  #isClosed = false;
  /** When the last group was in its transaction, and committed. */
  #filledAt = 0;
  #committedAt = Number.NEGATIVE_INFINITY;
  readonly #holds = new Set<Unavailability>();

  /** @param beforeCommit writes other rows that are due, inside the same transaction. */
  constructor(db: Database, on: GroupCommitEvents, beforeCommit: () => void = () => {}) {
    this.#on = on;
    this.#beforeCommit = beforeCommit;
    this.appender = new Appender(db);
    const events = { ...on, failed: (error: unknown, kind: FailureKind) => this.#failed(error, kind) };
    this.maintenance = new Maintenance(db, this.appender.keys, this.#holds, events);
    this.#commitGroup = db.transaction((group) => this.#appendAll(group));
    this.#commitAside = db.transaction((write) => write());
  }

  /**
   * @returns the counts, after the commit has been fsynced.
   * @throws {Problem} 503 if the events are not stored: full, busy, overloaded, shutting down, failed.
   */
  append(events: readonly CourtEvent[]): Promise<Counts> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(unavailable('shuttingDown'));
      if (this.hasFailed) return reject(unavailable('failed'));
      const [reason] = this.#holds;
      if (reason !== undefined) return reject(unavailable(reason));
      if (this.appender.keys.count >= KEY_LIMITS.most) {
        // No commit will follow, and a move only continues after one.
        this.schedule();
        return reject(unavailable('behind'));
      }
      if (this.maintenance.isRefusing) return reject(unavailable('full'));
      if (this.#queue.length >= QUEUED_REQUESTS) return reject(unavailable('overloaded'));
      this.#queue.push({ events, receivedMs: Date.now(), resolve, reject });
      this.schedule();
    });
  }

  /** Requests that wait for a commit. */
  get queued(): number {
    return this.#queue.length;
  }

  /**
   * Commits a small write that is not an event, in its own transaction, so that its failure does not affect events.
   * @returns whether it is on disk; not tried if events would be rejected.
   */
  aside(write: () => void): boolean {
    if (this.hasFailed || this.#holds.size > 0 || this.maintenance.isRefusing) return false;
    try {
      this.#commitAside.immediate(write);
      return true;
    } catch (error) {
      if (failureKind(error) !== 'full') this.#failed(error);
      return false;
    }
  }

  /**
   * Commits a step of retention. Call it outside of a turn: this thread is between two groups then.
   * @throws {SqliteError} if it was rolled back, and {Problem} 503 if nothing is written any more.
   */
  step(work: () => void): void {
    if (this.hasFailed) throw unavailable('failed');
    try {
      this.#commitAside.immediate(work);
    } catch (error) {
      this.#failed(error);
      throw error;
    }
    this.schedule();
  }

  /** Whether requests have been committed within the last second. */
  get isServing(): boolean {
    return performance.now() - this.#committedAt < SERVING_MS;
  }

  /** See Maintenance. Not after a fatal failure. */
  truncateWal(): void {
    if (!this.hasFailed) this.maintenance.truncateWal();
  }

  /** Refuses all requests for this reason, until it is lifted. */
  hold(reason: Unavailability, isHeld: boolean): void {
    this.#holds[isHeld ? 'add' : 'delete'](reason);
  }

  /** Rejects all requests from now on. @returns once the queued ones have been answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.maintenance.stop();
    while (this.#queue.length > 0) await sleep(BUSY_RETRY_MS);
  }

  /** Commits and runs the maintenance that is due, after this turn: so all requests that become ready in it join the group. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    // Before the commit, not after it: by now the answers of the previous group have left.
    this.maintenance.step();
    const group = this.#takeGroup();
    if (group.length > 0) this.#commit(group);
    if (this.#queue.length > 0 || this.maintenance.isDue) this.schedule();
  }

  #takeGroup(): QueuedRequest[] {
    const most = this.#soloCommits > 0 ? 0 : GROUP_EVENTS;
    this.#soloCommits = Math.max(0, this.#soloCommits - 1);
    let [events, end] = [0, 0];
    while (end < this.#queue.length && (end === 0 || events < most))
      events += this.#queue[end++]!.events.length;
    return this.#queue.splice(0, end);
  }

  #commit(group: QueuedRequest[]): void {
    const beganAt = performance.now();
    try {
      const counts = this.#commitGroup.immediate(group);
      this.#committedAt = performance.now();
      this.#locksMet = 0;
      this.totals.commits++;
      this.totals.requests += group.length;
      this.totals.seconds += (this.#committedAt - beganAt) / 1_000;
      this.totals.syncSeconds += (this.#committedAt - this.#filledAt) / 1_000;
      for (const [i, request] of group.entries()) request.resolve(counts[i]!);
    } catch (error) {
      this.appender.forget();
      this.#groupFailed(group, error);
    }
  }

  #appendAll(group: QueuedRequest[]): Counts[] {
    const counts = this.appender.append(group);
    this.#beforeCommit();
    this.#filledAt = performance.now();
    return counts;
  }

  #groupFailed(group: QueuedRequest[], error: unknown): void {
    const kind = failureKind(error);
    if (kind === 'busy') return this.#retryLater([...group, ...this.#queue]);
    if (group.length > 1 && (kind === 'damaged' || kind === 'unexpected')) {
      // One request of the group caused it: each gets its own transaction, so that only that one fails.
      this.#queue.unshift(...group);
      this.#soloCommits = group.length;
      return;
    }
    this.#failed(error);
    rejectAll(group, kind === 'unexpected' ? error : unavailable(kind === 'fatal' ? 'failed' : kind));
  }

  /** Reports a failure, unless it passes by itself. */
  #failed(error: unknown, kind = failureKind(error)): void {
    if (kind === 'fatal') this.fail(error);
    if (kind === 'full') this.maintenance.diskFull(error);
    if (kind === 'damaged') this.#on.damaged(error);
    if (kind === 'unexpected') this.#on.unexpected(error);
  }

  /** On a timer, because waiting inside SQLite would block the event loop. */
  #retryLater(waiting: QueuedRequest[]): void {
    this.#queue = waiting;
    if (++this.#locksMet > BUSY_GIVE_UP_MS / BUSY_RETRY_MS) {
      this.#locksMet = 0;
      return rejectAll(this.#queue.splice(0), unavailable('busy'));
    }
    this.#isScheduled = true;
    setTimeout(() => this.#turn(), BUSY_RETRY_MS);
  }

  /** Call it after an I/O error, wherever it occurred: no request is answered 202 any more. */
  fail(error: unknown): void {
    if (this.hasFailed) return;
    this.hasFailed = true;
    this.maintenance.stop();
    rejectAll(this.#queue.splice(0), unavailable('failed'));
    this.#on.fatal(error);
  }
}

function rejectAll(requests: Iterable<QueuedRequest>, reason: unknown): void {
  for (const request of requests) request.reject(reason);
}
