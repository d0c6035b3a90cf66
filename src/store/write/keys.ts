import type { Database, Statement, Transaction } from 'better-sqlite3';
import { keyHash } from '../db/keyHash.ts';
import { inChunks, type MultiRowStatement, multiRowStatement } from '../db/multiRowStatement.ts';
import { KEY_LIMITS } from '../db/sizes.ts';

/** What identifies an event (spec 2.3), with the session interned and the event_id hashed; and its seq. */
export interface KeyEntry {
  readonly session: number;
  readonly hash: Buffer;
  readonly revision: number;
  readonly seq: number;
}

const SAME = '(session, hash, revision) = (@session, @hash, @revision)';

/** The next keys that move: in their order, so that a page of the file takes many at once. */
const MOVING =
  'FROM recent_key WHERE (session, hash, revision) <= (@session, @hash, @revision) AND seq <= @upTo';
const ALL = { session: Number.MAX_SAFE_INTEGER, hash: Buffer.alloc(0), revision: 0 };

/**
 * The keys of all stored events, each once (../../ARCHITECTURE.md#duplicates). The newest are in a table in memory, which takes part
 * in the transaction of their events; the others are in the table `key` of the file, to which a move adds them. After a crash the keys
 * of the events behind `flushed.up_to` are read back.
 *
 * Exact only in the process that writes (directoryLock.ts). Others read the view `session_event`.
 */
export class EventKeys {
  readonly #db: Database;
  readonly #insert: MultiRowStatement;
  readonly #inFile: MultiRowStatement<{ readonly seq: number }>;
  readonly #seqOf: Statement<[KeyEntry], number>;
  readonly #moveSome: Transaction<(upTo: number) => boolean>;
  /** Sessions up to this one may have keys in the file. Those of later ones are not looked up there. */
  #lastMovedSession: number;
  /** The seq up to which keys are being moved. */
  #moveUpTo: number | undefined;
  /** Keys in memory. More are counted than there are: a prune deletes some. */
  count = 0;

  /** Reads the keys of the events behind `flushed.up_to` back. */
  constructor(db: Database) {
    this.#db = db;
    db.function('key_hash', { deterministic: true }, keyHash);
    db.exec(`
      ATTACH ':memory:' AS recent;
      CREATE TABLE recent.recent_key (
        session INTEGER, hash BLOB, revision INTEGER, seq INTEGER, PRIMARY KEY (session, hash, revision)
      ) STRICT, WITHOUT ROWID;
      INSERT OR REPLACE INTO recent_key
      SELECT session, key_hash(event_id), revision, seq FROM event WHERE seq > (SELECT up_to FROM flushed)`);
    this.#insert = multiRowStatement(db, 4, (rows) => `INSERT OR IGNORE INTO recent_key VALUES ${rows}`);
    const amongKeys = (rows: string) => `
      WITH asked (session, hash, revision, seq) AS (VALUES ${rows})
      SELECT asked.seq FROM asked CROSS JOIN key USING (session, hash, revision)`;
    this.#inFile = multiRowStatement(db, 4, amongKeys);
    const seqIn = (table: string) => `(SELECT seq FROM ${table} WHERE ${SAME})`;
    const seqOf = `SELECT coalesce(${seqIn('recent_key')}, ${seqIn('key')}, 0)`;
    this.#seqOf = db.prepare<[KeyEntry], number>(seqOf).pluck();
    const last = db.prepare<[number, number], Omit<KeyEntry, 'seq'>>(
      'SELECT * FROM recent_key WHERE seq <= ? ORDER BY session, hash, revision LIMIT 1 OFFSET ?',
    );
    const copy = db.prepare(`INSERT OR IGNORE INTO key SELECT session, hash, revision, seq ${MOVING}`);
    const remove = db.prepare(`DELETE ${MOVING}`);
    const note = db.prepare('UPDATE flushed SET up_to = ?');
    this.#moveSome = db.transaction((upTo) => {
      const end = last.get(upTo, KEY_LIMITS.step - 1) ?? ALL;
      for (const statement of [copy, remove]) statement.run({ ...end, upTo });
      return end === ALL && note.run(upTo).changes > 0;
    });
    this.#lastMovedSession = this.#newest().session;
    this.recount();
  }

  /**
   * Inserts the keys that are new. Call it inside the transaction that stores the events, and `recount` if that fails.
   * @returns the seqs of those that are not; of two equal ones, the first is new.
   */
  insert(keys: readonly KeyEntry[]): ReadonlySet<number> {
    const known = new Set<number>();
    for (const some of inChunks(keys)) {
      if (some.some(({ session }) => session <= this.#lastMovedSession))
        for (const { seq } of this.#inFile(some.length).all(...valuesOf(some))) known.add(seq);
      const rest = known.size === 0 ? some : some.filter(({ seq }) => !known.has(seq));
      if (rest.length === 0) continue;
      const { changes } = this.#insert(rest.length).run(...valuesOf(rest));
      this.count += changes;
      if (changes < rest.length) for (const key of rest) if (this.seqOf(key) !== key.seq) known.add(key.seq);
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

  /** Counts the keys in memory again. Call it after a rollback: SQLite has removed some. */
  recount(): void {
    this.count = this.#db.prepare<[], number>('SELECT count(*) FROM recent_key').pluck().get()!;
  }

  /** Whether a step of a move is due. */
  get isMoveDue(): boolean {
    return this.#moveUpTo !== undefined || this.count >= KEY_LIMITS.move;
  }

  /**
   * Moves the next keys to the file, in a transaction of its own. Call it between commits. Keys that came after the move
   * began stay in memory. A crash leaves some in both places, which OR IGNORE skips.
   * @throws {SqliteError} if a step fails; calling again repeats that step.
   */
  moveStep(): void {
    if (this.#moveUpTo === undefined) {
      const { seq, session } = this.#newest();
      this.#moveUpTo = seq;
      this.#lastMovedSession = session;
    }
    if (this.#moveSome.immediate(this.#moveUpTo)) this.#moveUpTo = undefined;
    this.recount();
  }

  #newest(): { readonly seq: number; readonly session: number } {
    const sql = `
      SELECT max(ifnull((SELECT max(seq) FROM event), 0), up_to) AS seq, ifnull((SELECT max(id) FROM session), 0) AS session
        FROM flushed`;
    return this.#db.prepare<[], { seq: number; session: number }>(sql).get()!;
  }
}

function valuesOf(keys: readonly KeyEntry[]): (number | Buffer)[] {
  return keys.flatMap(({ session, hash, revision, seq }) => [session, hash, revision, seq]);
}
