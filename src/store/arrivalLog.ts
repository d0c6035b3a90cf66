import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import { fsync } from '../base/atomicFile.ts';
import { FOLLOW_LINGER_MS } from '../base/limits.ts';
import { OperatorError } from '../base/operatorError.ts';
import { databaseFile } from './directory/dataDirectory.ts';
import { type Epoch, sharedUpTo } from './layout/epochs.ts';
import { layoutOf, openDatabase } from './open/openDatabase.ts';
import { explain } from './open/openErrors.ts';
import { type ArrivalChunk, type ArrivalFilter, ArrivalReader } from './read/arrivalReader.ts';
import { failureKind } from './sqlite/errors.ts';

/** Of the shared memory: what changes with every commit, and the number of frames in it (SQLite, "WAL-mode File Format", 2.1). */
const INDEX_HEADER = { bytes: 96, framesAt: 16 } as const;

/** The database cannot be read now, and may be again: it is locked, or it is not there. */
export class TemporarilyUnreadable extends OperatorError {
  readonly isLocked: boolean;

  constructor(error: OperatorError) {
    super(error.message);
    this.isLocked = failureKind(error.cause) === 'busy';
  }
}

/** Seqs, inclusive. */
export interface SeqRange {
  readonly from: number;
  readonly to: number;
}

/** A chunk, and what is to be said before it. */
export interface Arrivals extends ArrivalChunk {
  /** Events of this range were pruned before they were read, the last one of it among them. Told once. */
  readonly pruned?: SeqRange;
  /** A backup was restored: it has what was read before up to this seq, and the chunk begins after it at the latest. */
  readonly restored?: number;
}

/**
 * The events of a data directory in the order of arrival, for whoever reads on for ever: through restarts of the daemon, kill -9,
 * prunes and restores. The database is open only while something comes: a restore needs it for itself.
 *
 * What is given is on the disk. A connection sees a commit when it stands in the WAL index, and SQLite puts it there after the
 * log was synced (wal.c, walFrames: sqlite3OsSync, then walIndexAppend and walIndexWriteHdr), since everything that stores
 * events does so with synchronous = FULL. The one exception is what a killed daemon had written and not yet synced: whoever opens
 * the database after it, this reader too, finds it in the log and takes it for committed. So the log is synced after each
 * opening, before anything is read.
 */
export class ArrivalLog {
  readonly #directory: string;
  readonly #filter: ArrivalFilter;
  #open: { readonly db: Database; readonly reader: ArrivalReader; readonly file: string } | undefined;
  #lingering: NodeJS.Timeout | undefined;
  /** How everything looked before it was opened last. */
  #seen = '';
  #epochs: readonly Epoch[] | undefined;
  /** What was pruned up to here is known to the caller. */
  #knownPruned = 0;

  constructor(directory: string, filter: ArrivalFilter = {}) {
    this.#directory = directory;
    this.#filter = filter;
  }

  /**
   * @param seq what was read last; 0: nothing.
   * @param limit events at the most.
   * @throws {TemporarilyUnreadable}, and {OperatorError} where it will not be read by trying again.
   */
  after(seq: number, limit: number): Arrivals {
    return this.#explained(() => {
      const reader = this.#reader();
      let chunk = reader.after(seq, limit);
      const shared = this.#epochs === undefined ? undefined : (sharedUpTo(this.#epochs, chunk.epochs) ?? 0);
      const isOther = this.#epochs !== undefined && this.#epochs.at(-1)!.name !== chunk.epochs.at(-1)?.name;
      const from = isOther ? Math.min(seq, shared!) : seq;
      if (from < seq) chunk = reader.after(from, limit);
      if (isOther) this.#knownPruned = 0;
      this.#epochs = chunk.epochs;
      if (chunk.events.length > 0) this.#linger();
      // Who stops the daemon to restore a backup must not find it in use because we looked what has changed.
      else if (chunk.isLast) this.close();
      const known = Math.max(from, this.#knownPruned);
      const pruned = chunk.prunedSeq > known ? { pruned: { from: known + 1, to: chunk.prunedSeq } } : {};
      this.#knownPruned = Math.max(chunk.prunedSeq, this.#knownPruned);
      return { ...chunk, ...pruned, ...(isOther ? { restored: shared! } : {}) };
    });
  }

  /** @see ArrivalReader.beforeNewest: what was pruned among them is not told. */
  async beforeNewest(count: number, pause: () => Promise<unknown>): Promise<number> {
    const looks = this.#explained(() => {
      const reader = this.#reader();
      this.#knownPruned = reader.after(0, 1).prunedSeq;
      return reader.beforeNewest(count);
    });
    for (let before = 0; ; ) {
      const { done, value } = this.#explained(() => {
        this.#linger();
        return looks.next();
      });
      if (done) return before;
      before = value;
      await pause();
    }
  }

  /** Whether it may be worth to look again: a few system calls, which open nothing of the database. */
  mayHaveNew(): boolean {
    return this.#open !== undefined || lookOf(this.#directory) !== this.#seen;
  }

  close(): void {
    clearTimeout(this.#lingering);
    this.#open?.db.close();
    this.#open = undefined;
  }

  #reader(): ArrivalReader {
    // Another one has its name now: what comes, comes there.
    if (this.#open !== undefined && this.#open.file !== identityOf(this.#directory)) this.close();
    if (this.#open !== undefined) return this.#open.reader;
    this.#seen = lookOf(this.#directory);
    const file = identityOf(this.#directory);
    const db = openDatabase(this.#directory, { busyMs: 0 });
    try {
      // The first look: it opens the log, and takes what a killed daemon has left there.
      layoutOf(db);
      // A descriptor of the log can be closed: SQLite's locks are on the other two files.
      fsync(`${databaseFile(this.#directory)}-wal`);
      fsync(this.#directory);
      this.#open = { db, reader: new ArrivalReader(db, this.#filter), file };
    } catch (error) {
      db.close();
      throw error;
    }
    this.#linger();
    return this.#open.reader;
  }

  /** Nothing is held while nothing comes, or while who takes the events does not. */
  #linger(): void {
    clearTimeout(this.#lingering);
    this.#lingering = setTimeout(() => this.close(), FOLLOW_LINGER_MS).unref();
  }

  #explained<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      const isOpened = this.#open !== undefined;
      this.close();
      const explained = explain(error, this.#directory);
      if (!(explained instanceof OperatorError)) throw explained;
      // One that has no cause is said before SQLite is asked: there is none, it is older or newer, or not set up.
      const isPassing = explained.cause === undefined ? !isOpened : failureKind(explained.cause) === 'busy';
      throw isPassing ? new TemporarilyUnreadable(explained) : explained;
    }
  }
}

/** Which file it is, whatever its name was before. */
function identityOf(directory: string): string {
  const stat = fs.statSync(databaseFile(directory), { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.dev}:${stat.ino}`;
}

/**
 * @returns what is another text after each commit and each restore, and the same when somebody has only opened or closed the
 * database: two readers would wake each other for ever. Never while this process has it open: to close the shared memory would
 * drop SQLite's locks on it.
 */
function lookOf(directory: string): string {
  const file = databaseFile(directory);
  const stat = fs.statSync(file, { throwIfNoEntry: false, bigint: true });
  if (stat === undefined) return '';
  return `${stat.dev}:${stat.ino}:${stat.mtimeNs}:${stat.size}:${indexHeader(`${file}-shm`)}`;
}

/** @returns nothing where the log is empty, or nobody has the database open: all is in the file then, or will be when it is opened. */
function indexHeader(file: string): string {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  let fd: number | undefined;
  try {
    fd = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const header = Buffer.alloc(INDEX_HEADER.bytes);
    fs.readSync(fd, header, 0, header.length, 0);
    return header.readUInt32LE(INDEX_HEADER.framesAt) === 0 ? '' : header.toString('latin1');
  } catch {
    // Closed to us, say: whoever opens the database says why.
    return '';
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}
