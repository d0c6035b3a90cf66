import type { Database } from 'better-sqlite3';
import { fsync } from '../base/atomicFile.ts';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { FILES_CHECK_MS } from '../base/limits.ts';
import { OperatorError } from '../base/operatorError.ts';
import { every } from '../base/pause.ts';
import { Problem } from '../protocol/errors.ts';
import { checkpoint } from './db/checkpointer.ts';
import { lockDirectory } from './db/directoryLock.ts';
import { fillReserve } from './db/diskReserve.ts';
import { watchFiles } from './db/fileMonitor.ts';
import { enterDatabase, openDatabase } from './db/openDatabase.ts';
import { explain } from './db/openErrors.ts';
import { sessionCounter } from './db/sessionCounter.ts';
import { closeAfter } from './db/sqliteErrors.ts';
import { type Erased, type ErasureRequest, erasePlayer } from './keep/erase.ts';
import type { PruneSelection } from './keep/expiredEvents.ts';
import { type Pruned, pruneEvents } from './keep/pruneEvents.ts';
import type { StepContext, StepProgress } from './keep/steps.ts';
import { TokenVerifier } from './tokens/tokenVerifier.ts';
import { healNames } from './write/eventRows.ts';
import { GroupCommit, type GroupCommitEvents } from './write/groupCommit.ts';

/** The store of the daemon: the one writer, the tokens, and the lock that makes it the only one. */
export class Store {
  readonly tokens: TokenVerifier;
  readonly writer: GroupCommit;
  /** The connection of the writer: requests wait for what is read with it. */
  readonly db: Database;
  readonly #lock: Database;
  readonly #directory: DataDirectory;
  /** Each stops something that runs on a timer. */
  readonly #stops: readonly (() => void)[];
  /** Ends the work that is running. */
  readonly #closing = new AbortController();
  #working: { readonly command: string; readonly ended: Promise<unknown> } | undefined;

  private constructor(lock: Database, db: Database, directory: DataDirectory, on: GroupCommitEvents) {
    this.#lock = lock;
    this.db = db;
    this.#directory = directory;
    this.tokens = new TokenVerifier(db, (error) => this.writer.fail(error));
    this.writer = new GroupCommit(db, on, () => this.tokens.writeUses());
    this.writer.aside(() => healNames(db));
    this.#stops = [
      this.writer.checkpoints.watch((isOver) => this.writer.holds[isOver ? 'add' : 'delete']('walHeld')),
      watchFiles(directory.file('database'), lock.name, (error) => this.writer.fail(error)),
      // Not while a prune uses what was released.
      every(FILES_CHECK_MS, () => this.#working === undefined && fillReserve(directory)),
    ];
    fillReserve(directory);
  }

  /**
   * Opens the data directory for writing; creates it if it does not exist.
   * @throws {OperatorError} if that fails: the message says why and what to do.
   */
  static async open(directory: DataDirectory, on: GroupCommitEvents): Promise<Store> {
    let [db, lock]: (Database | undefined)[] = [];
    try {
      // The lock exists only next to a database: if it is alone, there was one.
      enterDatabase(directory, true);
      lock = lockDirectory(directory);
      db = openDatabase(directory, { isLocked: true });
      // Opens the WAL. SQLite takes a failed sync of the directory for a success, and then the power would take the names of its files.
      checkpoint(db, 'NOOP');
      fsync(directory.path);
      // Waiting inside SQLite would block the event loop: the writer retries on a timer instead.
      db.pragma('busy_timeout = 0');
      return new Store(lock, db, directory, on);
    } catch (error) {
      if (db !== undefined) closeAfter(error, db);
      lock?.close();
      throw explain(error, directory);
    }
  }

  /**
   * Deletes events, as steps of the writer.
   * @param signal ends it at its next pause, with an AbortError.
   * @throws {OperatorError} if another one or an erasure is running, the disk is full and stays so, or the database fails.
   */
  prune(selection: PruneSelection, on: StepProgress, signal = this.#closing.signal): Promise<Pruned> {
    return this.#alone('prune', on, signal, (context) => pruneEvents(context, selection));
  }

  /** Erases a player, as steps of the writer. @param signal as for `prune`. @throws {OperatorError} as `prune`. */
  erase(request: ErasureRequest, on: StepProgress, signal = this.#closing.signal): Promise<Erased> {
    return this.#alone('player erase', on, signal, (context) => erasePlayer(context, request));
  }

  /** Runs steps of the writer that take a while, one such work at a time. */
  async #alone<Result>(
    command: string,
    on: StepProgress,
    signal: AbortSignal,
    work: (context: StepContext) => Promise<Result>,
  ): Promise<Result> {
    if (this.#working !== undefined) {
      throw new OperatorError(
        `Another "courtd ${this.#working.command}" is running on ${this.#directory}. Wait until it ends.`,
      );
    }
    const ended = AbortSignal.any([this.#closing.signal, signal]);
    const working = work({ db: this.db, writer: this.writer, on, signal: ended });
    this.#working = { command, ended: working };
    try {
      return await working;
    } catch (error) {
      if (!this.#closing.signal.aborted) throw explain(error, this.#directory);
      throw new OperatorError(
        `The daemon is stopping, so the ${command} has ended: the next one finishes it.`,
      );
    } finally {
      this.#working = undefined;
    }
  }

  /** A health check: waits for its turn, and stores nothing. To take no events, on a full disk, is healthy. @throws what is a bug. */
  async answers(): Promise<void> {
    await this.writer.append([]).catch((error) => {
      if (!(error instanceof Problem)) throw error;
    });
  }

  /**
   * Rejects new requests, waits for the queued ones, then checkpoints and closes the database. Not after a fatal failure: its
   * observer exits without.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const stop of this.#stops) stop();
    await this.#working?.ended.catch(() => {});
    await this.writer.close();
    await this.writer.checkpoints.idle();
    if (this.writer.hasFailed) return;
    this.writer.aside(() => this.tokens.writeUses(0));
    this.writer.aside(sessionCounter(this.db));
    this.db.close();
    this.#lock.close();
  }
}
