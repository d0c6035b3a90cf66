import type { Database, Transaction } from 'better-sqlite3';
import type { CourtEvent } from '../protocol/event.ts';
import {
  BUSY_GIVE_UP_MS,
  BUSY_RETRY_MS,
  GROUP_EVENTS,
  QUEUED_REQUESTS,
  SEAL_RETRY_MS,
} from '../protocol/limits.ts';
import type { Problem } from '../protocol/problems.ts';
import { Appender, type Counts } from './append.ts';
import { failureKind } from './failure.ts';
import { overloaded, shuttingDown, storageBusy, storageFailed, storageFull } from './refusals.ts';

/** What the daemon logs of the store's health. */
export interface WriterEvents {
  /** The disk is full: told once, not for each request. */
  full(error: unknown): void;
  /** Writing works again. */
  healed(): void;
  /** Nothing can be promised any more: say so, and exit without closing the database (design 5). */
  fatal(error: unknown): void;
  /** A fault of ours: one request has failed, the others of its group have not. */
  unexpected(error: unknown): void;
}

export interface WriterOptions {
  /** Events in one commit; 1 is a commit per request, which `npm run bench` compares with. */
  readonly groupEvents?: number;
}

/** A request that waits for its commit. */
interface Job {
  readonly events: readonly CourtEvent[];
  /** Milliseconds since the epoch, as stored. */
  readonly receivedMs: number;
  /** Milliseconds of the monotonic clock. */
  readonly queuedAt: number;
  readonly resolve: (counts: Counts) => void;
  readonly reject: (problem: unknown) => void;
  outcome?: Counts;
  failure?: unknown;
}

/**
 * Group commit (design 5): requests that are ready in the same turn of the event loop share one transaction and
 * one fsync; inside it each is a transaction of its own, so that one that fails is undone alone. All of them are
 * answered after the commit, duplicates too.
 */
export class Writer {
  readonly #db: Database;
  readonly #appender: Appender;
  readonly #on: WriterEvents;
  readonly #beforeCommit: () => void;
  readonly #groupEvents: number;
  readonly #commitGroup: Transaction<(group: Job[]) => void>;
  readonly #appendOne: Transaction<(job: Job) => Counts>;
  #queue: Job[] = [];
  #isScheduled = false;
  /** A locked database is being waited for. */
  #mustWait = false;
  #isFull = false;
  #isFailed = false;
  #isClosed = false;
  #sealNotBefore = 0;
  #refusal: (() => Problem) | undefined;
  #whenIdle: (() => void) | undefined;

  /** @param beforeCommit writes what else is due, in the same transaction. */
  constructor(
    db: Database,
    on: WriterEvents,
    beforeCommit: () => void = () => {},
    { groupEvents = GROUP_EVENTS }: WriterOptions = {},
  ) {
    this.#db = db;
    this.#on = on;
    this.#beforeCommit = beforeCommit;
    this.#groupEvents = groupEvents;
    this.#appender = new Appender(db);
    this.#appendOne = db.transaction((job) => this.#appender.append(job.events, job.receivedMs));
    this.#commitGroup = db.transaction((group) => this.#appendAll(group));
  }

  /**
   * @returns after the events are on disk.
   * @throws {Problem} 503 where they are not and will not be: full, busy, overloaded, failed.
   */
  append(events: readonly CourtEvent[]): Promise<Counts> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(shuttingDown());
      if (this.#isFailed) return reject(storageFailed());
      if (this.#refusal) return reject(this.#refusal());
      if (this.#queue.length >= QUEUED_REQUESTS) return reject(overloaded());
      this.#queue.push({ events, receivedMs: Date.now(), queuedAt: performance.now(), resolve, reject });
      if (!this.#mustWait) this.#schedule();
    });
  }

  /** Refuses everything until it is called with undefined. */
  hold(refusal: (() => Problem) | undefined): void {
    this.#refusal = refusal;
  }

  /** From now on everything is refused. @returns when what was appended before has been answered. */
  close(): Promise<void> {
    this.#isClosed = true;
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
    const group = this.#takeGroup();
    if (group.length > 0) this.#commit(group);
    if (this.#mustWait || this.#isFailed) return;
    if (this.#wantsSealing()) this.#seal();
    if (this.#queue.length > 0 || this.#wantsSealing()) this.#schedule();
    if (this.#queue.length === 0) this.#whenIdle?.();
  }

  #takeGroup(): Job[] {
    let events = 0;
    let end = 0;
    while (end < this.#queue.length && (end === 0 || events < this.#groupEvents)) {
      events += this.#queue[end]!.events.length;
      end++;
    }
    return this.#queue.splice(0, end);
  }

  #commit(group: Job[]): void {
    try {
      this.#commitGroup.immediate(group);
    } catch (error) {
      this.#appender.rolledBack();
      this.#groupFailed(group, error);
      return;
    }
    this.#appender.committed();
    if (this.#isFull) this.#on.healed();
    this.#isFull = false;
    for (const job of group) {
      if (job.outcome === undefined) job.reject(job.failure);
      else job.resolve(job.outcome);
    }
  }

  #appendAll(group: Job[]): void {
    for (const job of group) {
      delete job.outcome;
      try {
        job.outcome = this.#appendOne(job);
      } catch (error) {
        // SQLITE_FULL, IOERR and NOMEM may have ended the whole transaction, from inside the savepoint too.
        if (!this.#db.inTransaction || failureKind(error) !== 'unexpected') throw error;
        this.#appender.rolledBack();
        job.failure = error;
        this.#on.unexpected(error);
      }
    }
    this.#beforeCommit();
  }

  #groupFailed(group: Job[], error: unknown): void {
    switch (failureKind(error)) {
      case 'busy':
        return this.#tryAgain(group);
      case 'full':
        if (!this.#isFull) this.#on.full(error);
        this.#isFull = true;
        return rejectAll(group, storageFull());
      case 'fatal':
        return this.#fail(group, error);
      default:
        this.#on.unexpected(error);
        return rejectAll(group, error);
    }
  }

  /** On a timer: waiting inside SQLite would stop the event loop. */
  #tryAgain(group: Job[]): void {
    const isLate = (job: Job) => performance.now() - job.queuedAt >= BUSY_GIVE_UP_MS;
    rejectAll(group.filter(isLate), storageBusy());
    this.#queue = [...group.filter((job) => !isLate(job)), ...this.#queue];
    this.#mustWait = true;
    setTimeout(() => {
      this.#mustWait = false;
      this.#schedule();
    }, BUSY_RETRY_MS);
  }

  #fail(group: Job[], error: unknown): void {
    this.#isFailed = true;
    rejectAll([...group, ...this.#queue.splice(0)], storageFailed());
    this.#on.fatal(error);
  }

  #wantsSealing(): boolean {
    return !this.#isClosed && this.#appender.keys.wantsSealing && performance.now() >= this.#sealNotBefore;
  }

  /** Sealing can always wait: it fails with nothing lost. */
  #seal(): void {
    try {
      this.#appender.keys.sealStep();
    } catch (error) {
      if (failureKind(error) === 'fatal') return this.#fail([], error);
      this.#sealNotBefore = performance.now() + SEAL_RETRY_MS;
    }
  }
}

function rejectAll(jobs: readonly Job[], reason: unknown): void {
  for (const job of jobs) job.reject(reason);
}
