import type { Database, Statement } from 'better-sqlite3';
import { keyHash } from '../db/keyHash.ts';
import { inChunks, type MultiRowStatement, multiRowStatement } from '../db/multiRowStatement.ts';
import { unsynced } from '../db/unsynced.ts';

/** What identifies an event (spec 2.3), with the session interned and the event_id hashed; and its seq. */
export interface KeyEntry {
  readonly session: number;
  readonly hash: Buffer;
  readonly revision: number;
  readonly seq: number;
}

export interface KeyLimits {
  /** Keys in memory at which a move to the file begins. */
  readonly move: number;
  /** Keys in memory at which events are answered 503, because moves fail: a start has to read all of them back. */
  readonly most: number;
  /** Keys that one step moves at most. */
  readonly step: number;
}

export const KEY_LIMITS: KeyLimits = { move: 50_000, most: 1_000_000, step: 2_000 };

type Place = readonly [session: number, hash: Buffer, revision: number];
const START: Place = [-1, Buffer.alloc(1), 0];
const END: Place = [Number.MAX_SAFE_INTEGER, Buffer.alloc(1), 0];

/** The keys of a step: of those up to a seq, the ones behind a place in the order and up to another. */
const OF_STEP = `
  FROM recent_key WHERE (session, hash, revision) > (?, ?, ?) AND (session, hash, revision) <= (?, ?, ?) AND seq <= ?`;

/**
 * The keys of all stored events, each once (../../ARCHITECTURE.md#duplicates). The newest are in a table in memory, which takes part
 * in the transaction of their events; the others are in the table `key` of the file, to which a move adds them in the order of the
 * keys, so that a page takes many at once. After a crash the keys of the events behind `flushed.up_to` are read back.
 *
 * Exact only in the process that writes (directoryLock.ts). Others read the view `session_event`.
 */
export class EventKeys {
  readonly limits: KeyLimits;
  readonly #db: Database;
  readonly #insert: MultiRowStatement;
  readonly #inFileOf: MultiRowStatement<{ readonly at: number; readonly seq: number }>;
  readonly #recentOf: MultiRowStatement<{ readonly at: number; readonly seq: number }>;
  readonly #replace: readonly Statement<[{ session: number; hash: Buffer; revision: number; seq: number }]>[];
  readonly #countRecent: Statement<[], number>;
  readonly #lastSeq: Statement<[], number>;
  /** Sessions that may have keys in the file: those up to this one, and these. Those of others are not looked up there. */
  readonly #lastOldSession: number;
  readonly #inFile = new Set<number>();
  /** Keys in memory. More are counted than there are: a prune deletes some. */
  count = 0;
  /** A move in progress: of the keys up to a seq, those up to a place in the order are in the file. */
  #move: { readonly upTo: number; after: Place } | undefined;

  /** Reads the keys of the events behind `flushed.up_to` back. */
  constructor(db: Database, limits: KeyLimits = KEY_LIMITS) {
    this.limits = limits;
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
    const among = (table: string) => (rows: string) =>
      `
      WITH asked (at, session, hash, revision) AS (VALUES ${rows})
      SELECT at, seq FROM asked CROSS JOIN ${table} USING (session, hash, revision)`;
    this.#inFileOf = multiRowStatement(db, 4, among('key'));
    this.#recentOf = multiRowStatement(db, 4, among('recent_key'));
    const same = '(session, hash, revision) = (@session, @hash, @revision)';
    const number = (sql: string) => db.prepare<[], number>(sql).pluck();
    this.#replace = [
      db.prepare(`DELETE FROM key WHERE ${same}`),
      db.prepare('INSERT OR REPLACE INTO recent_key VALUES (@session, @hash, @revision, @seq)'),
    ];
    this.#countRecent = number('SELECT count(*) FROM recent_key');
    this.#lastSeq = number('SELECT max(ifnull((SELECT max(seq) FROM event), 0), up_to) FROM flushed');
    this.#lastOldSession = number('SELECT max(id) FROM session').get() ?? 0;
    this.recount();
  }

  /**
   * Inserts the keys that are new. Call it inside the transaction that stores the events, and `recount` if that fails.
   * @returns for each key whether it is new; of two equal ones, the first.
   */
  insert(keys: readonly KeyEntry[]): boolean[] {
    return inChunks(keys).flatMap((some) => this.#insertSome(some));
  }

  #insertSome(keys: readonly KeyEntry[]): boolean[] {
    const isNew = Array<boolean>(keys.length).fill(true);
    if (keys.some(({ session }) => session <= this.#lastOldSession || this.#inFile.has(session)))
      for (const { at } of this.#inFileOf.all(numbered(keys))) isNew[at] = false;
    const values = keys.flatMap(({ session, hash, revision, seq }, at) =>
      isNew[at] ? [session, hash, revision, seq] : [],
    );
    if (values.length === 0) return isNew;
    const { changes } = this.#insert.run(values);
    this.count += changes;
    if (changes === values.length / 4) return isNew;
    for (const { at, seq } of this.#recentOf.all(numbered(keys)))
      if (seq !== keys[at]!.seq) isNew[at] = false;
    return isNew;
  }

  /** @returns the seq that a key has now; undefined if it is not known. */
  seqOf(key: KeyEntry): number | undefined {
    const one = numbered([key]);
    return (this.#recentOf.all(one)[0] ?? this.#inFileOf.all(one)[0])?.seq;
  }

  /** Gives a key to another event, because the one that had it is gone. Call it as `insert`. */
  replace({ session, hash, revision, seq }: KeyEntry): void {
    for (const statement of this.#replace) statement.run({ session, hash, revision, seq });
    this.count++;
  }

  /** Counts the keys in memory again. Call it after a rollback: SQLite has removed some. */
  recount(): void {
    this.count = this.#countRecent.get() ?? 0;
  }

  /** Whether a step of a move is due. */
  get isMoveDue(): boolean {
    return this.#move !== undefined || this.count >= this.limits.move;
  }

  /**
   * Moves the next keys to the file, in a transaction of its own. Call it between commits. Not synced: the keys of a step that a
   * power failure undoes are read back. Keys that came after the move began stay in memory. A crash leaves some in both places, which
   * OR IGNORE skips.
   * @returns whether the move is over. @throws {SqliteError} if a step fails; calling again repeats that step.
   */
  moveStep(): boolean {
    const db = this.#db;
    this.#move ??= { upTo: this.#lastSeq.get() ?? 0, after: START };
    const { upTo, after } = this.#move;
    const boundary = db.prepare<unknown[], Place>(`
      SELECT session, hash, revision FROM recent_key WHERE (session, hash, revision) > (?, ?, ?)
       ORDER BY session, hash, revision LIMIT 1 OFFSET ?`);
    const to = boundary.raw().get(...after, this.limits.step - 1) ?? END;
    const range = [...after, ...to, upTo];
    const step = db.transaction(() => {
      const sessions = db.prepare<unknown[], number>(`SELECT DISTINCT session ${OF_STEP}`).pluck();
      for (const session of sessions.all(...range)) this.#inFile.add(session);
      db.prepare(`INSERT OR IGNORE INTO key SELECT session, hash, revision, seq ${OF_STEP}`).run(...range);
      if (to === END) db.prepare('UPDATE flushed SET up_to = ?').run(upTo);
      return db.prepare(`DELETE ${OF_STEP}`).run(...range).changes;
    });
    unsynced(db, () => {
      this.count -= step.immediate();
    });
    this.#move.after = to;
    if (to !== END) return false;
    this.#move = undefined;
    this.recount();
    return true;
  }
}

function numbered(keys: readonly KeyEntry[]): (number | Buffer)[] {
  return keys.flatMap(({ session, hash, revision }, at) => [at, session, hash, revision]);
}
