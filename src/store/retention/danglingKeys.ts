import type { Database, Statement } from 'better-sqlite3';
import type { KeyEntry } from '../dedup/memtable.ts';
import { READ_ROWS } from './pacedSteps.ts';

/** A dangling key to delete, or a session that has been scanned to its end. */
type DanglingKeyStep = KeyEntry | { readonly scannedSession: number };

/**
 * Finds and deletes dangling keys, whose events were pruned. `session.dangling_up_to_seq` records where they
 * may be, so that they are found after an interrupted prune, too.
 *
 * Keys that are still in the daemon's memory are flushed later, even those of pruned events. That is harmless
 * (../dedup/DESIGN.md); as long as a session may have such keys its mark stays, and the next prune scans it
 * again.
 */
export class DanglingKeys {
  readonly #unscanned: Statement<[], { id: number; upToSeq: number }>;
  readonly #keysOf: Statement<[number, number, number, number], KeyEntry>;
  readonly #eventExists: Statement<[number], number>;
  readonly #remove: Statement<[number, number, number, number]>;
  readonly #markScanned: Statement<[number]>;

  constructor(db: Database) {
    this.#unscanned = db.prepare(
      'SELECT id, dangling_up_to_seq AS upToSeq FROM session WHERE dangling_up_to_seq > 0',
    );
    this.#keysOf = db.prepare(`
      SELECT session, hash, revision, seq FROM key
       WHERE session = ? AND (hash, revision, seq) > (?, ?, ?) ORDER BY hash, revision, seq LIMIT ${READ_ROWS}`);
    this.#eventExists = db.prepare<[number], number>('SELECT 1 FROM event WHERE seq = ?').pluck();
    this.#remove = db.prepare('DELETE FROM key WHERE session = ? AND hash = ? AND revision = ? AND seq = ?');
    this.#markScanned = db.prepare(
      'UPDATE session SET dangling_up_to_seq = 0 WHERE id = ? AND dangling_up_to_seq <= (SELECT up_to_seq FROM flushed)',
    );
  }

  /** @yields the steps of all sessions, as many at a time as READ_ROWS keys give, or a few more. */
  *batches(): Generator<readonly DanglingKeyStep[]> {
    let batch: DanglingKeyStep[] = [];
    let read = 0;
    for (const { id, upToSeq } of this.#unscanned.all()) {
      for (const { keys, steps } of this.#session(id, upToSeq)) {
        batch.push(...steps);
        read += keys + 1;
        if (read < READ_ROWS) continue;
        yield batch;
        [batch, read] = [[], 0];
      }
    }
    if (batch.length > 0) yield batch;
  }

  /**
   * Call it inside a transaction.
   * @returns the number of deleted keys.
   */
  run(step: DanglingKeyStep): number {
    if ('seq' in step) return this.#remove.run(step.session, step.hash, step.revision, step.seq).changes;
    this.#markScanned.run(step.scannedSession);
    return 0;
  }

  /** @yields how many keys were read, and the steps among them. */
  *#session(id: number, upToSeq: number): Generator<{ keys: number; steps: DanglingKeyStep[] }> {
    let after: Omit<KeyEntry, 'session'> = { hash: -(2 ** 31), revision: -1, seq: 0 };
    for (let isOver = false; !isOver; ) {
      const keys = this.#keysOf.all(id, after.hash, after.revision, after.seq);
      isOver = keys.length < READ_ROWS;
      after = keys.at(-1) ?? after;
      const steps: DanglingKeyStep[] = keys.filter(
        ({ seq }) => seq <= upToSeq && this.#eventExists.get(seq) === undefined,
      );
      if (isOver) steps.push({ scannedSession: id });
      yield { keys: keys.length, steps };
    }
  }
}
