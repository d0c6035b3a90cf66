import type { Database, Statement } from 'better-sqlite3';
import { PRUNE_READ_ROWS } from '../../base/limits.ts';
import type { KeyOfEvent } from '../dedup/memtable.ts';

/** A key to delete, or a session that has none left to delete. */
export type SweepStep = KeyOfEvent | { readonly sweptSession: number; readonly upToSeq: number };

/**
 * Finds the keys that lead nowhere, and deletes them. Where they are is noted with each session (`unswept`), so that it is known after
 * a prune that was cut short, too.
 *
 * Keys that are still in the daemon's memory reach the file later, those of events that are gone as well. They do no harm (dedupIndex.ts);
 * so long as a session may have such ones its note stays, and the next prune looks again.
 */
export class DanglingKeys {
  readonly #unswept: Statement<[], { id: number; upToSeq: number }>;
  readonly #chunk: Statement<[number, number, number, number], KeyOfEvent>;
  readonly #isThere: Statement<[number], number>;
  readonly #remove: Statement<[number, number, number, number]>;
  readonly #swept: Statement<[number, number]>;

  constructor(db: Database) {
    this.#unswept = db.prepare('SELECT id, unswept AS upToSeq FROM session WHERE unswept > 0');
    this.#chunk = db.prepare(`
      SELECT session, hash, revision, seq FROM key
       WHERE session = ? AND (hash, revision, seq) > (?, ?, ?) ORDER BY hash, revision, seq LIMIT ${PRUNE_READ_ROWS}`);
    this.#isThere = db.prepare<[number], number>('SELECT 1 FROM event WHERE seq = ?').pluck();
    this.#remove = db.prepare('DELETE FROM key WHERE session = ? AND hash = ? AND revision = ? AND seq = ?');
    this.#swept = db.prepare(
      'UPDATE session SET unswept = 0 WHERE id = ? AND unswept = ? AND unswept <= (SELECT up_to_seq FROM flushed)',
    );
  }

  /** @yields what is to be done, of all sessions behind one another, in lists of about PRUNE_READ_ROWS. */
  *lists(): Generator<readonly SweepStep[]> {
    let list: SweepStep[] = [];
    for (const { id, upToSeq } of this.#unswept.all()) {
      for (const step of this.#session(id, upToSeq)) {
        list.push(step);
        if (list.length < PRUNE_READ_ROWS) continue;
        yield list;
        list = [];
      }
    }
    if (list.length > 0) yield list;
  }

  /** Inside a transaction. @returns how many keys it has deleted. */
  run(step: SweepStep): number {
    if ('seq' in step) return this.#remove.run(step.session, step.hash, step.revision, step.seq).changes;
    this.#swept.run(step.sweptSession, step.upToSeq);
    return 0;
  }

  *#session(id: number, upToSeq: number): Generator<SweepStep> {
    let after: Omit<KeyOfEvent, 'session'> = { hash: -(2 ** 31), revision: -1, seq: 0 };
    for (;;) {
      const keys = this.#chunk.all(id, after.hash, after.revision, after.seq);
      for (const key of keys) if (key.seq <= upToSeq && this.#isThere.get(key.seq) === undefined) yield key;
      if (keys.length < PRUNE_READ_ROWS) break;
      after = keys.at(-1)!;
    }
    yield { sweptSession: id, upToSeq };
  }
}
