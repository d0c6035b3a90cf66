import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Transaction } from 'better-sqlite3';
import {
  BUSY_GIVE_UP_MS,
  BUSY_RETRY_MS,
  DAMAGE_TOLD_MS,
  MEMTABLE_KEYS_MAX,
  QUEUED_REQUESTS,
} from '../../base/limits.ts';
import type { CourtEvent } from '../../protocol/event.ts';
import { type Refusal, refusal } from '../../protocol/unavailable.ts';
import { failureKind } from '../sqlite/errors.ts';
import type { Checkpointer } from '../wal/checkpointer.ts';
import { Appender, type Arrival, type Counts } from './appender.ts';
import { DiskFull, type DiskFullEvents, type DiskFullOptions } from './diskFull.ts';
import { MaintenanceSteps } from './maintenanceSteps.ts';

/** Events in one commit: bounds how long the requests of a group wait for each other (design 5). */
const GROUP_EVENTS = 2_000;

/** What the daemon logs of the store's health. */
export interface GroupCommitEvents extends DiskFullEvents {
  /** Nothing can be promised any more: say so, and exit without closing the database (design 5). */
  fatal(error: unknown): void;
  /** A part of the database cannot be read or written to, and who needed it was refused: told at most once a minute. */
  damaged(error: unknown): void;
  /** A fault of ours: one request has failed, the others of its group have not. */
  unexpected(error: unknown): void;
}

export interface GroupCommitOptions extends DiskFullOptions {
  /** Events in one commit; 1 is a commit per request, which `npm run bench` compares with. */
  readonly groupEvents?: number;
  readonly memtableKeysMax?: number;
}

/** A request that waits for its commit. */
interface PendingRequest extends Arrival {
  /** Milliseconds of the monotonic clock. */
  readonly queuedAt: number;
  /** It has waited for a locked database before. */
  isRetried: boolean;
  readonly resolve: (counts: Counts) => void;
  readonly reject: (problem: unknown) => void;
}

/**
 * Group commit (design 5): requests that are ready in the same turn of the event loop share one transaction and
 * one fsync, and are answered after it, duplicates too. One that fails for itself is undone alone: the group is rolled
 * back, and each of it gets a transaction of its own. A savepoint for each would do that as well; but inside one, SQLite
 * first copies every page that it changes, for most events one of their own: a sixth of the time.
 */
export class GroupCommit {
  readonly checkpoints: Checkpointer;
  readonly full: DiskFull;
  readonly #appender: Appender;
  readonly #maintenance: MaintenanceSteps;
  readonly #on: GroupCommitEvents;
  readonly #beforeCommit: () => void;
  readonly #groupEvents: number;
  readonly #memtableKeysMax: number;
  readonly #commitGroup: Transaction<(group: PendingRequest[]) => Counts[]>;
  #queue: PendingRequest[] = [];
  /** So many of the queue are committed one by one. */
  #soloCommits = 0;
  #isScheduled = false;
  /** A locked database is being waited for. */
  #isBackingOff = false;
  #isFailed = false;
  #isClosed = false;
  #isMaintenanceDue = false;
  #reportDamageFrom = 0;
  readonly #holds = new Set<Refusal>();
  #whenIdle: (() => void) | undefined;

  /** @param beforeCommit writes what else is due, in the same transaction. */
  constructor(
    db: Database,
    on: GroupCommitEvents,
    beforeCommit: () => void = () => {},
    { groupEvents = GROUP_EVENTS, memtableKeysMax = MEMTABLE_KEYS_MAX, ...options }: GroupCommitOptions = {},
  ) {
    this.#on = on;
    this.#beforeCommit = beforeCommit;
    this.#groupEvents = groupEvents;
    this.#memtableKeysMax = memtableKeysMax;
    this.full = new DiskFull(on, () => this.#maintenance.hasRoom(), options);
    this.#appender = new Appender(db);
    this.#maintenance = new MaintenanceSteps(db, this.#appender, {
      ...on,
      fatal: (error) => this.fail(error),
      damaged: (error) => this.#reportDamage(error),
    });
    this.checkpoints = this.#maintenance.checkpoints;
    this.#commitGroup = db.transaction((group) => this.#appendAll(group));
  }

  /**
   * @returns after the events are on disk.
   * @throws {Problem} 503 where they are not and will not be: full, busy, overloaded, failed.
   */
  append(events: readonly CourtEvent[]): Promise<Counts> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(refusal('shuttingDown'));
      if (this.#isFailed) return reject(refusal('failed'));
      const [reason] = this.#holds;
      if (reason !== undefined) return reject(refusal(reason));
      if (this.#appender.keys.count >= this.#memtableKeysMax) {
        // No commit comes, after which keys would be flushed.
        this.#isMaintenanceDue = true;
        if (!this.#isBackingOff) this.#schedule();
        return reject(refusal('behind'));
      }
      if (this.full.isRefusing) return reject(refusal('full'));
      if (this.#queue.length >= QUEUED_REQUESTS) return reject(refusal('overloaded'));
      const queuedAt = performance.now();
      this.#queue.push({ events, receivedMs: Date.now(), queuedAt, isRetried: false, resolve, reject });
      if (!this.#isBackingOff) this.#schedule();
    });
  }

  /** @returns once everything that waits now has been answered or refused. */
  async drained(): Promise<void> {
    const last = this.#queue.at(-1);
    while (last !== undefined && this.#queue.includes(last)) await sleep(BUSY_RETRY_MS);
  }

  /** Refuses everything for this reason until it is lifted. */
  hold(reason: Refusal, isHeld: boolean): void {
    if (isHeld) this.#holds.add(reason);
    else this.#holds.delete(reason);
  }

  /** From now on everything is refused. @returns when what was appended before has been answered. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.full.stop();
    if (this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  /** After the turn in which the first request came, so that all that came with it join the group. */
  #schedule(): void {
    if (this.#isScheduled || this.#isFailed) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    // Before the commit, not after it: by now the answers of the last one have left.
    if (this.#isMaintenanceDue && !this.#isClosed) this.#maintenance.step();
    if (this.#isFailed) return;
    const group = this.#takeGroup();
    if (group.length > 0) this.#commit(group);
    if (this.#isBackingOff || this.#isFailed) return;
    this.#isMaintenanceDue = !this.#isClosed && this.#maintenance.isDue;
    if (this.#queue.length > 0 || this.#isMaintenanceDue) this.#schedule();
    if (this.#queue.length === 0) this.#whenIdle?.();
  }

  #takeGroup(): PendingRequest[] {
    if (this.#soloCommits > 0) {
      this.#soloCommits--;
      return this.#queue.splice(0, 1);
    }
    let events = 0;
    let end = 0;
    while (end < this.#queue.length && (end === 0 || events < this.#groupEvents)) {
      events += this.#queue[end]!.events.length;
      end++;
    }
    return this.#queue.splice(0, end);
  }

  #commit(group: PendingRequest[]): void {
    let counts: Counts[];
    try {
      counts = this.#commitGroup.immediate(group);
    } catch (error) {
      this.#appender.rolledBack();
      this.#groupFailed(group, error);
      return;
    }
    this.#appender.committed();
    this.full.succeeded();
    for (const [i, request] of group.entries()) request.resolve(counts[i]!);
  }

  #appendAll(group: PendingRequest[]): Counts[] {
    const counts = this.#appender.append(group);
    this.#beforeCommit();
    return counts;
  }

  #groupFailed(group: PendingRequest[], error: unknown): void {
    switch (failureKind(error)) {
      case 'busy':
        return this.#retryLater([...group, ...this.#queue]);
      case 'full':
        this.full.failed(error);
        return rejectAll(group, refusal('full'));
      case 'fatal':
        return this.fail(error, group);
      default:
        if (group.length === 1) return this.#failedAlone(group, error);
        // One of them has met it: each gets a transaction of its own, so that it fails alone.
        this.#queue.unshift(...group);
        this.#soloCommits = group.length;
    }
  }

  #failedAlone(group: readonly PendingRequest[], error: unknown): void {
    if (failureKind(error) !== 'damaged') {
      this.#on.unexpected(error);
      return rejectAll(group, error);
    }
    this.#reportDamage(error);
    rejectAll(group, refusal('damaged'));
  }

  #reportDamage(error: unknown): void {
    if (performance.now() < this.#reportDamageFrom) return;
    this.#reportDamageFrom = performance.now() + DAMAGE_TOLD_MS;
    this.#on.damaged(error);
  }

  /**
   * On a timer: waiting inside SQLite would stop the event loop. What has found the database locked is tried once more at
   * least, however late: the event loop may have been busy meanwhile, and the lock be gone long since.
   */
  #retryLater(waiting: PendingRequest[]): void {
    const now = performance.now();
    const isLate = ({ queuedAt, isRetried }: PendingRequest) =>
      isRetried && now - queuedAt >= BUSY_GIVE_UP_MS;
    rejectAll(waiting.filter(isLate), refusal('busy'));
    this.#queue = waiting.filter((request) => !isLate(request));
    for (const request of this.#queue) request.isRetried = true;
    this.#isBackingOff = true;
    setTimeout(() => {
      this.#isBackingOff = false;
      this.#schedule();
    }, BUSY_RETRY_MS);
  }

  /** After an I/O error, wherever it was met: nothing is answered 202 any more. */
  fail(error: unknown, group: readonly PendingRequest[] = []): void {
    if (this.#isFailed) return;
    this.#isFailed = true;
    rejectAll([...group, ...this.#queue.splice(0)], refusal('failed'));
    this.#on.fatal(error);
  }
}

function rejectAll(requests: Iterable<PendingRequest>, reason: unknown): void {
  for (const request of requests) request.reject(reason);
}
