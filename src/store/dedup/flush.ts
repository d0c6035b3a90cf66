import type { Database, Statement, Transaction } from 'better-sqlite3';
import { FLUSH_STEP_KEYS } from '../../base/limits.ts';
import { inChunks, MultiRowStatement } from '../sqlite/multiRowStatement.ts';
import type { KeyOfEvent, Memtable } from './memtable.ts';

/** Keys on their way to the file. */
interface Move {
  readonly keys: Memtable;
  readonly inOrder: Iterator<KeyOfEvent>;
  /** What the next step moves. */
  batch: readonly KeyOfEvent[];
}

/**
 * Moves keys from memory to the file (dedupIndex.ts says why): by session and in key order, so that a page takes many of them,
 * and in steps, so that ingest does not notice. A crash between two steps leaves keys in both places, which does no
 * harm; neither do keys of events that a prune has deleted meanwhile: they lead nowhere.
 */
export class Flush {
  readonly #copy: MultiRowStatement;
  readonly #sealUpTo: Statement<[number]>;
  readonly #runStep: Transaction<(move: Move) => void>;
  #move: Move | undefined;

  constructor(db: Database) {
    this.#copy = new MultiRowStatement(db, 4, (values) => `INSERT OR IGNORE INTO key VALUES ${values}`);
    this.#sealUpTo = db.prepare('UPDATE flushed SET up_to_seq = ?');
    this.#runStep = db.transaction((move) => this.#moveBatch(move));
  }

  /** The keys that are on their way; they stay in memory until all are there. */
  get keys(): Memtable | undefined {
    return this.#move?.keys;
  }

  /**
   * Sorts them by session; the steps come next.
   * @param keys those of all events after the last ones that were flushed; they change no more.
   */
  begin(keys: Memtable): void {
    const inOrder = keys.inOrder();
    this.#move = { keys, inOrder, batch: take(inOrder) };
  }

  step(): void {
    const move = this.#move;
    if (move === undefined) return;
    this.#runStep.immediate(move);
    // Only after the commit: a step that failed is taken again.
    if (move.batch.length < FLUSH_STEP_KEYS) this.#move = undefined;
    else move.batch = take(move.inOrder);
  }

  #moveBatch({ keys, batch }: Move): void {
    for (const rows of inChunks(batch)) {
      const values: number[] = [];
      for (const { session, hash, revision, seq } of rows) values.push(session, hash, revision, seq);
      this.#copy.run(values);
    }
    if (batch.length < FLUSH_STEP_KEYS) this.#sealUpTo.run(keys.lastSeq);
  }
}

function take(keys: Iterator<KeyOfEvent>): KeyOfEvent[] {
  const batch: KeyOfEvent[] = [];
  while (batch.length < FLUSH_STEP_KEYS) {
    const { done, value } = keys.next();
    if (done) break;
    batch.push(value);
  }
  return batch;
}
