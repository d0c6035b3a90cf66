import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { type Epoch, sharedUpTo } from '../db/epochs.ts';
import { openDatabase } from '../db/openDatabase.ts';
import { explain } from '../db/openErrors.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { type ArrivalChunk, type ArrivalFilter, ArrivalReader } from './arrivalReader.ts';

/** Milliseconds for which the database is open: a restore waits longer for exclusive access. */
const OPEN_MS = 300;
/** The header of the WAL index: it changes with every commit, and holds the number of frames (SQLite, "WAL-mode File Format", 2.1). */
const INDEX_HEADER = { bytes: 96, framesAt: 16 } as const;

/** The database cannot be read now, but may be later: it stays locked, or is missing. */
export class TemporarilyUnreadable extends OperatorError {}

/** A chunk, and the restore before it, if there is one. */
export interface Arrivals extends ArrivalChunk {
  /** A backup was restored that has what was read before only up to this seq: the chunk continues from there at the latest. */
  readonly restored?: number;
}

/**
 * The events of a data directory in the order of arrival, for readers that follow them for ever: across restarts of the daemon,
 * kill -9, prunes and restores. The database is open only for a moment: a restore needs exclusive access.
 *
 * Every event that it returns is on disk. A connection sees a commit once it is in the WAL index, and SQLite puts it there after
 * the WAL has been synced (wal.c, walFrames: sqlite3OsSync, then walIndexAppend and walIndexWriteHdr), since everything that stores
 * events uses synchronous = FULL. The one exception is what a killed daemon had written but not synced: a process that opens the database
 * next, this reader included, recovers it from the WAL as committed, and makes it durable first (rewriteWal.ts).
 */
export class ArrivalLog {
  readonly #directory: DataDirectory;
  readonly #filter: ArrivalFilter;
  #open: { readonly db: Database; readonly reader: ArrivalReader } | undefined;
  #closing: NodeJS.Timeout | undefined;
  /** `lookOf` the directory just before it was last opened. */
  #seen = '';
  #epochs: readonly Epoch[] | undefined;

  constructor(directory: DataDirectory, filter: ArrivalFilter = {}) {
    this.#directory = directory;
    this.#filter = filter;
  }

  /**
   * @param seq the last one that was read; 0: none.
   * @param limit how many events at most.
   * @throws {TemporarilyUnreadable}, and {OperatorError} where trying again is pointless.
   */
  after(seq: number, limit: number): Arrivals {
    return this.#explained(() => {
      const reader = this.#reader();
      let chunk = reader.after(seq, limit);
      const shared = this.#epochs === undefined ? undefined : (sharedUpTo(this.#epochs, chunk.epochs) ?? 0);
      const isOther = this.#epochs !== undefined && this.#epochs.at(-1)!.name !== chunk.epochs.at(-1)?.name;
      const from = isOther ? Math.min(seq, shared!) : seq;
      if (from < seq) chunk = reader.after(from, limit);
      this.#epochs = chunk.epochs;
      return { ...chunk, ...(isOther ? { restored: shared! } : {}) };
    });
  }

  /** @see ArrivalReader.beforeNewest */
  beforeNewest(count: number): number {
    return this.#explained(() => this.#reader().beforeNewest(count));
  }

  /** Whether there may be new events: a few system calls, which do not open the database. */
  mayHaveNew(): boolean {
    return this.#open !== undefined || lookOf(this.#directory) !== this.#seen;
  }

  close(): void {
    clearTimeout(this.#closing);
    this.#open?.db.close();
    this.#open = undefined;
  }

  #reader(): ArrivalReader {
    if (this.#open !== undefined) return this.#open.reader;
    this.#seen = lookOf(this.#directory);
    const db = openDatabase(this.#directory);
    try {
      this.#open = { db, reader: new ArrivalReader(db, this.#filter) };
    } catch (error) {
      db.close();
      throw error;
    }
    this.#closing = setTimeout(() => this.close(), OPEN_MS).unref();
    return this.#open.reader;
  }

  #explained<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      const isOpened = this.#open !== undefined;
      this.close();
      const explained = explain(error, this.#directory);
      if (!(explained instanceof OperatorError)) throw explained;
      // Without a cause, it was rejected before SQLite opened it: it is missing, older, newer, or not set up.
      const isPassing = explained.cause === undefined ? !isOpened : failureKind(explained.cause) === 'busy';
      throw isPassing ? new TemporarilyUnreadable(explained.message) : explained;
    }
  }
}

/**
 * @returns a text that differs after each commit and each restore, but not after the database was only opened or closed: two readers
 * would wake each other for ever. Not to be called while this process has the database open: closing a descriptor of the shared
 * memory would drop SQLite's locks on it.
 */
export function lookOf(directory: DataDirectory): string {
  const stat = fs.statSync(directory.file('database'), { throwIfNoEntry: false, bigint: true });
  if (stat === undefined) return '';
  return `${stat.dev}:${stat.ino}:${stat.mtimeNs}:${stat.size}:${indexHeader(directory)}`;
}

/** @returns the header of the WAL index; empty if the WAL is empty or no process has the database open. */
function indexHeader(directory: DataDirectory): string {
  let fd: number | undefined;
  try {
    fd = directory.open('shm', fs.constants.O_RDONLY);
    const header = Buffer.alloc(INDEX_HEADER.bytes);
    fs.readSync(fd, header);
    return header.readUInt32LE(INDEX_HEADER.framesAt) === 0 ? '' : header.toString('latin1');
  } catch {
    // Not accessible, for example: opening the database will report why.
    return '';
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}
