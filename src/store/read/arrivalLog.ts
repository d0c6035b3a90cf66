import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { type Epoch, readEpochs, sharedUpTo } from '../db/epochs.ts';
import { withDatabase } from '../db/openDatabase.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { type ArrivalFilter, arrivalsAfter, beforeNewest } from './arrivals.ts';

/** The header of the WAL index: it changes with every commit, and holds the number of frames (SQLite, "WAL-mode File Format", 2.1). */
const INDEX_HEADER = { bytes: 96, framesAt: 16 } as const;

/** A chunk, and the restore before it, if there is one. */
export type Arrivals = Awaited<ReturnType<ArrivalLog['after']>>;

/**
 * The events of a data directory in the order of arrival, for readers that follow them for ever: across restarts of the daemon,
 * kill -9, prunes and restores. The database is open only for each read: a restore needs exclusive access.
 *
 * Every event that it returns is on disk: with synchronous = FULL, SQLite puts a commit into the WAL index after the WAL has been
 * synced (wal.c, walFrames). What a killed daemon has not synced, the process that opens the database next makes durable first
 * (rewriteWal.ts).
 */
export class ArrivalLog {
  readonly #directory: DataDirectory;
  readonly #filter: ArrivalFilter;
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
   * @throws {OperatorError} if the database cannot be read (see `mayPass`).
   */
  after(seq: number, limit: number) {
    this.#seen = lookOf(this.#directory);
    return withDatabase({ data: this.#directory }, (db) =>
      db.transaction(() => {
        const epochs = readEpochs(db);
        const shared = sharedUpTo(this.#epochs ?? epochs, epochs) ?? 0;
        const restored = shared === Number.MAX_SAFE_INTEGER ? undefined : shared;
        const chunk = arrivalsAfter(db, Math.min(seq, shared), limit, this.#filter);
        this.#epochs = epochs;
        return {
          ...chunk,
          /** To which log these seqs belong (epochs.ts). */
          epochs,
          /** A backup was restored that has what was read before only up to this seq: the chunk continues from there at the latest. */
          restored,
        };
      })(),
    );
  }

  /** @returns the seq after which the newest `count` events that pass the filter begin. */
  beforeNewest(count: number): Promise<number> {
    return withDatabase({ data: this.#directory }, (db) => beforeNewest(db, count, this.#filter));
  }

  /** Whether there may be new events: a few system calls, which do not open the database. */
  mayHaveNew(): boolean {
    return lookOf(this.#directory) !== this.#seen;
  }
}

/** @returns whether the database may be read later: it stays locked, is missing, older, newer, or not set up. */
export function mayPass(error: unknown): error is OperatorError {
  // Without a cause, it was rejected before SQLite opened it.
  return error instanceof OperatorError && (error.cause === undefined || failureKind(error.cause) === 'busy');
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
