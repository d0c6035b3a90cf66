import type { Database, Statement } from 'better-sqlite3';
import { LAST_GIVEN_SEQ } from '../db/epochs.ts';
import { inChunks, type MultiRowStatement, multiRowStatement } from '../db/multiRowStatement.ts';
import { KEY_LIMITS } from '../db/sizes.ts';
import { readRecentKeys } from '../read/storedKeys.ts';

/** What identifies an event (spec 2.3), with the session interned and the event_id hashed; and its seq. */
export interface KeyEntry {
  readonly session: number;
  readonly hash: Buffer;
  readonly revision: number;
  readonly seq: number;
}

type LastKey = { readonly session: number; readonly hash: Buffer | null; readonly revision: number | null };
const ALL_KEYS: LastKey = { session: Number.MAX_SAFE_INTEGER, hash: null, revision: null };
const SAME = '(session, hash, revision) = (@session, @hash, @revision)';

/**
 * The keys of all stored events, each once (../../ARCHITECTURE.md#duplicates). The newest are in a table in memory, which takes part
 * in the transaction of their events; the others are in the table `key` of the file, to which a move adds them. After a crash the keys
 * of the events behind `flushed.up_to` are read back.
 *
 * Exact only in the process that writes (directoryLock.ts). Others read the view `session_event`.
 */
export class EventKeys {
  /** Of the next event: higher than every seq that was ever given. */
  nextSeq: number;
  readonly #db: Database;
  readonly #insert: MultiRowStatement;
  readonly #seqOf: Statement<[KeyEntry], number>;
  /** The last key of a step of a move; none of the last step. */
  readonly #endOfStep: Statement<[number, number], LastKey>;
  readonly #moveKeys: readonly Statement<[LastKey & { upTo: number }]>[];
  /** The file has the keys of all events up to this seq. */
  #movedUpTo: number;
  /** The seq up to which keys are being moved. */
  #moveUpTo = 0;

  /** Reads the keys of the events behind `flushed.up_to` back. */
  constructor(db: Database) {
    this.#db = db;
    // A temporary table took 5 % more processor time per event.
    db.exec("ATTACH ':memory:' AS recent");
    readRecentKeys(db, 'recent');
    // One statement is a tenth faster than a query of the file and an insert.
    const insert = (rows: string) => `
      INSERT OR IGNORE INTO recent_key
      WITH asked (session, hash, revision, seq) AS (VALUES ${rows})
      SELECT asked.* FROM asked LEFT JOIN key USING (session, hash, revision) WHERE key.hash IS NULL`;
    this.#insert = multiRowStatement(db, 4, insert);
    const seqIn = (table: string) => `(SELECT seq FROM ${table} WHERE ${SAME})`;
    const seqOf = `SELECT coalesce(${seqIn('recent_key')}, ${seqIn('key')}, 0)`;
    this.#seqOf = db.prepare<[KeyEntry], number>(seqOf).pluck();
    // In the order of keys, so that a page of the file takes many at once.
    this.#endOfStep = db.prepare(`
      SELECT session, hash, revision FROM recent_key WHERE seq <= ?
       ORDER BY session, hash, revision LIMIT 1 OFFSET ?`);
    const step =
      'FROM recent_key WHERE seq <= @upTo AND (session, hash, revision) <= (@session, @hash, @revision)';
    const copy = `INSERT OR IGNORE INTO key SELECT session, hash, revision, seq ${step} ORDER BY session, hash, revision`;
    this.#moveKeys = [copy, `DELETE ${step}`].map((sql) => db.prepare(sql));
    this.#movedUpTo = db.prepare<[], number>('SELECT up_to FROM flushed').pluck().get()!;
    this.nextSeq = db.prepare<[], number>(`SELECT ${LAST_GIVEN_SEQ}`).pluck().get()! + 1;
  }

  /**
   * Inserts the keys that are new. Call it inside the transaction that stores the events.
   * @returns the seqs of those that are not; of two equal ones, the first is new.
   */
  insert(keys: readonly KeyEntry[]): ReadonlySet<number> {
    const known = new Set<number>();
    for (const some of inChunks(keys)) {
      const values = some.flatMap(({ session, hash, revision, seq }) => [session, hash, revision, seq]);
      const { changes } = this.#insert(some.length).run(...values);
      if (changes < some.length) for (const key of some) if (this.seqOf(key) !== key.seq) known.add(key.seq);
    }
    return known;
  }

  /** @returns the seq that a key has now; 0 if it is not known. */
  seqOf(key: KeyEntry): number {
    return this.#seqOf.get(key)!;
  }

  /** Gives a key to another event, because the one that had it is gone. Call it as `insert`. */
  replace(key: KeyEntry): void {
    this.#db.prepare(`DELETE FROM key WHERE ${SAME}`).run(key);
    this.#db.prepare('INSERT OR REPLACE INTO recent_key VALUES (@session, @hash, @revision, @seq)').run(key);
  }

  /** Keys in memory. Fewer are there than are counted: duplicates have a seq, and a prune deletes keys. */
  get count(): number {
    return this.nextSeq - 1 - this.#movedUpTo;
  }

  /** Whether a step of a move is due. */
  get isMoveDue(): boolean {
    return this.#moveUpTo > this.#movedUpTo || this.count >= KEY_LIMITS.move;
  }

  /**
   * Moves the next keys to the file. Call it inside a transaction of its own, between commits; if that fails, a later move has its keys
   * too. Keys that came after the move began stay in memory. A crash leaves some in both places, which OR IGNORE skips.
   * @param most how many.
   */
  moveStep(most = KEY_LIMITS.step): void {
    if (this.#moveUpTo <= this.#movedUpTo) this.#moveUpTo = this.nextSeq - 1;
    const [upTo, end] = [this.#moveUpTo, this.#endOfStep.get(this.#moveUpTo, most - 1)];
    for (const statement of this.#moveKeys) statement.run({ ...(end ?? ALL_KEYS), upTo });
    if (end !== undefined) return;
    this.#db.prepare('UPDATE flushed SET up_to = ?').run(upTo);
    this.#movedUpTo = upTo;
  }
}
