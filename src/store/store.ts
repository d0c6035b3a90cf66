import type { Database } from 'better-sqlite3';
import type { CourtEvent } from '../protocol/event.ts';
import type { Counts } from './append.ts';
import { TokenGuard } from './guard.ts';
import { lockDirectory } from './lock.ts';
import { assertDurable, databaseFile, openDatabase } from './open.ts';
import { logHeld } from './refusals.ts';
import { settle } from './settle.ts';
import { type WalEvents, WalWatch } from './wal.ts';
import { Writer, type WriterEvents, type WriterOptions } from './writer.ts';

/** What the daemon logs of the store. */
export type StoreEvents = WriterEvents & WalEvents;

/** The store as the daemon has it: one writer, the tokens, and the locks that make it the only one. */
export class Store {
  readonly tokens: TokenGuard;
  readonly #db: Database;
  readonly #lock: Database;
  readonly #writer: Writer;

  readonly #wal: WalWatch;

  private constructor(
    lock: Database,
    db: Database,
    directory: string,
    on: StoreEvents,
    options: WriterOptions,
  ) {
    this.#lock = lock;
    this.#db = db;
    this.tokens = new TokenGuard(db);
    this.#writer = new Writer(db, on, () => this.tokens.writeUses(), options);
    this.#wal = new WalWatch(db, databaseFile(directory), {
      ...on,
      walOver: (isOver) => this.#writer.hold(isOver ? logHeld : undefined),
    });
  }

  /**
   * Opens the data directory for writing, and makes it where there is none.
   * @throws {StoreError} where it cannot be: the message says why and what to do.
   */
  static async open(directory: string, on: StoreEvents, options: WriterOptions = {}): Promise<Store> {
    const db = openDatabase(directory, { create: true });
    try {
      const lock = lockDirectory(directory);
      await settle(db, directory);
      assertDurable(db);
      // Waiting inside SQLite would stop the event loop: the writer waits on a timer instead.
      db.pragma('busy_timeout = 0');
      return new Store(lock, db, directory, on, options);
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** @see Writer.append */
  append(events: readonly CourtEvent[]): Promise<Counts> {
    return this.#writer.append(events);
  }

  /** Refuses what comes from now on, waits for what came before, then checkpoints and closes. */
  async close(): Promise<void> {
    this.#wal.stop();
    await this.#writer.close();
    this.#db.close();
    this.#lock.close();
  }
}
