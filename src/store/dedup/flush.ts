import type { Database, Statement, Transaction } from 'better-sqlite3';
import { inChunks, MultiRowStatement } from '../sqlite/multiRowStatement.ts';
import { unsynced } from '../sqlite/unsynced.ts';
import { FLUSH_STEP_KEYS, type KeyEntry, type Memtable } from './memtable.ts';

/** Inserts keys into the table `key`; in key order, each page takes many of them. One that is there already is left as it is. */
export class KeyInserter {
  readonly #insert: MultiRowStatement;

  constructor(db: Database) {
    this.#insert = new MultiRowStatement(db, 4, (values) => `INSERT OR IGNORE INTO key VALUES ${values}`);
  }

  insert(keys: readonly KeyEntry[]): void {
    for (const rows of inChunks(keys)) {
      const values: number[] = [];
      for (const { session, hash, revision, seq } of rows) values.push(session, hash, revision, seq);
      this.#insert.run(values);
    }
  }
}

/** A flush in progress. */
interface FlushRun {
  readonly keys: Memtable;
  readonly sorted: Iterator<KeyEntry>;
  /** What a step that failed was to write. */
  batch: KeyEntry[];
}

/**
 * Writes the keys of a memtable to the table `key`: in key order, so that each page takes many of them, and
 * in steps, so that no commit waits long for one. A crash between two steps is harmless: `flushed` advances
 * only with the last one, so the next start reads all the keys back and `INSERT OR IGNORE` skips those that
 * are already written. A key whose event a prune has deleted in the meantime is harmless too: it dangles
 * (DESIGN.md).
 */
export class Flush {
  readonly #db: Database;
  readonly #inserter: KeyInserter;
  readonly #setFlushedSeq: Statement<[number]>;
  readonly #runStep: Transaction<(run: FlushRun, isLast: boolean) => void>;
  #run: FlushRun | undefined;

  constructor(db: Database) {
    this.#db = db;
    this.#inserter = new KeyInserter(db);
    this.#setFlushedSeq = db.prepare('UPDATE flushed SET up_to_seq = ?');
    this.#runStep = db.transaction((run, isLast) => this.#writeBatch(run, isLast));
  }

  /** The keys being flushed. They stay in memory until the last step has been committed. */
  get keys(): Memtable | undefined {
    return this.#run?.keys;
  }

  /**
   * Sorts the keys by session, which takes 30 ms for MEMTABLE_KEYS of them (measured). `step` does the rest.
   * @param keys the keys of all unflushed events; nothing may be added to them from now on.
   */
  begin(keys: Memtable): void {
    this.#run = { keys, sorted: keys.inKeyOrder(), batch: [] };
  }

  /**
   * Writes one batch in a transaction; the last one also advances `flushed`. Does nothing where no flush is
   * in progress. Not synced, which would be a quarter of all fsyncs while batches of 500 events arrive: the
   * keys of a step that a power failure undoes are read back.
   * @param most keys of this step.
   */
  step(most: number): void {
    const run = this.#run;
    if (run === undefined) return;
    run.batch.push(...nextKeys(run.sorted, most - run.batch.length));
    const isLast = run.batch.length < most;
    unsynced(this.#db, () => this.#runStep.immediate(run, isLast));
    // After the commit only, so that a step that failed is repeated.
    if (isLast) this.#run = undefined;
    else run.batch = [];
  }

  #writeBatch({ keys, batch }: FlushRun, isLast: boolean): void {
    this.#inserter.insert(batch);
    if (isLast) this.#setFlushedSeq.run(keys.lastSeq);
  }
}

/** @returns the next keys that a step writes; none at the end. */
export function nextKeys(keys: Iterator<KeyEntry>, most = FLUSH_STEP_KEYS): KeyEntry[] {
  const batch: KeyEntry[] = [];
  while (batch.length < most) {
    const { done, value } = keys.next();
    if (done) break;
    batch.push(value);
  }
  return batch;
}
