import type { Database, Statement, Transaction } from 'better-sqlite3';
import { inChunks, MultiRowStatement } from '../sqlite/multiRowStatement.ts';
import { FLUSH_STEP_KEYS, type KeyEntry, type Memtable } from './memtable.ts';

/** Keys on their way to the file. */
interface FlushRun {
  readonly keys: Memtable;
  readonly sorted: Iterator<KeyEntry>;
  /** What the next step moves. */
  batch: readonly KeyEntry[];
}

/**
 * Moves keys from memory to the file (dedupIndex.ts says why): by session and in key order, so that a page takes many of them,
 * and in steps, so that ingest does not notice. A crash between two steps leaves keys in both places, which does no
 * harm; neither do keys of events that a prune has deleted meanwhile: they lead nowhere.
 */
export class Flush {
  readonly #insertKeys: MultiRowStatement;
  readonly #setFlushedSeq: Statement<[number]>;
  readonly #runStep: Transaction<(run: FlushRun) => void>;
  #run: FlushRun | undefined;

  constructor(db: Database) {
    this.#insertKeys = new MultiRowStatement(db, 4, (values) => `INSERT OR IGNORE INTO key VALUES ${values}`);
    this.#setFlushedSeq = db.prepare('UPDATE flushed SET up_to_seq = ?');
    this.#runStep = db.transaction((run) => this.#writeBatch(run));
  }

  /** The keys that are on their way; they stay in memory until all are there. */
  get keys(): Memtable | undefined {
    return this.#run?.keys;
  }

  /**
   * Sorts them by session; the steps come next.
   * @param keys those of all events after the last ones that were flushed; they change no more.
   */
  begin(keys: Memtable): void {
    const sorted = keys.inKeyOrder();
    this.#run = { keys, sorted, batch: nextBatch(sorted) };
  }

  step(): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#runStep.immediate(run);
    // Only after the commit: a step that failed is taken again.
    if (run.batch.length < FLUSH_STEP_KEYS) this.#run = undefined;
    else run.batch = nextBatch(run.sorted);
  }

  #writeBatch({ keys, batch }: FlushRun): void {
    for (const rows of inChunks(batch)) {
      const values: number[] = [];
      for (const { session, hash, revision, seq } of rows) values.push(session, hash, revision, seq);
      this.#insertKeys.run(values);
    }
    if (batch.length < FLUSH_STEP_KEYS) this.#setFlushedSeq.run(keys.lastSeq);
  }
}

function nextBatch(keys: Iterator<KeyEntry>): KeyEntry[] {
  const batch: KeyEntry[] = [];
  while (batch.length < FLUSH_STEP_KEYS) {
    const { done, value } = keys.next();
    if (done) break;
    batch.push(value);
  }
  return batch;
}
