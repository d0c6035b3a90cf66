import type { Database, Statement } from 'better-sqlite3';
import { LIVE_KEYS } from '../protocol/limits.ts';
import { inRows, RowsStatement } from './rows.ts';
import { Seal } from './seal.ts';

/** What a stored event is known by (spec 2.3), and where it is. */
export interface Key {
  readonly session: number;
  readonly eventId: string;
  readonly revision: number;
  readonly seq: number;
}

/** The keys that are read back at start. */
export const UNSEALED_KEYS = `
  SELECT e.session, e.event_id, e.revision, e.seq FROM event e JOIN session s ON s.id = e.session
   WHERE e.seq > (SELECT up_to_seq FROM sealed) AND e.seq > s.sealed_seq`;

const KEY_MATCHES = 'session = ? AND event_id = ? AND revision = ?';

/**
 * Which keys are known, for ever. Event ids are random, so an index over all of them would dirty a page of its own
 * for each event: 14 KB written for 200 bytes, slow, and hard on flash. Instead events are appended in order of
 * arrival, and their keys live here, in an attached in-memory table that takes part in the same transactions: it
 * rolls back with them, and INSERT OR IGNORE into it stays the arbiter of what is new.
 *
 * Nothing is lost with the memory: every event after its session's `sealed_seq` is read back at start. To bound
 * that, the session with the oldest keys is sealed when there are more than LIVE_KEYS (seal.ts): its keys move to
 * the file's table `key`, and from then on both places are asked about that session.
 *
 * This holds for one writing process (lock.ts). Other processes work from the file alone.
 */
export class Keys {
  readonly #claimLive: RowsStatement;
  readonly #claimUnsealed: RowsStatement;
  readonly #findLive: Statement<[number, string, number], number>;
  readonly #findSealed: Statement<[number, string, number], number>;
  readonly #replaceLive: Statement<[number, string, number, number]>;
  readonly #forgetSealed: Statement<[number, string, number]>;
  readonly #countLive: Statement<[], number>;
  readonly #seal: Seal;
  #count: number;

  constructor(db: Database) {
    // What SQLite notes to undo a statement of many rows, such as a step of the seal, it would write to /tmp.
    db.pragma('temp_store = MEMORY');
    db.exec(`
      ATTACH ':memory:' AS live;
      CREATE TABLE live.key (session INTEGER, event_id TEXT, revision INTEGER, seq INTEGER,
        PRIMARY KEY (session, event_id, revision)) STRICT, WITHOUT ROWID;
      INSERT OR IGNORE INTO live.key
        ${UNSEALED_KEYS} ORDER BY e.session, e.event_id, e.revision;
    `);
    const insert = 'INSERT OR IGNORE INTO live.key';
    this.#claimLive = new RowsStatement(db, 4, (values) => `${insert} VALUES ${values}`);
    this.#claimUnsealed = new RowsStatement(
      db,
      4,
      (values) => `
        WITH new (session, event_id, revision, seq) AS (VALUES ${values})
        ${insert} SELECT * FROM new WHERE NOT EXISTS (
          SELECT 1 FROM main.key AS old
           WHERE old.session = new.session AND old.event_id = new.event_id AND old.revision = new.revision)`,
    );
    const find = (schema: string) => {
      const sql = `SELECT seq FROM ${schema}.key WHERE ${KEY_MATCHES}`;
      return db.prepare<[number, string, number], number>(sql).pluck();
    };
    this.#findLive = find('live');
    this.#findSealed = find('main');
    this.#replaceLive = db.prepare('INSERT OR REPLACE INTO live.key VALUES (?, ?, ?, ?)');
    this.#forgetSealed = db.prepare(`DELETE FROM main.key WHERE ${KEY_MATCHES}`);
    this.#countLive = db.prepare<[], number>('SELECT count(*) FROM live.key').pluck();
    this.#count = this.#countLive.get() ?? 0;
    this.#seal = new Seal(db);
  }

  /** Keys in memory. */
  get count(): number {
    return this.#count;
  }

  /**
   * Makes the keys known that are not, inside the transaction that stores their events.
   * @returns for each key the seq under which it is known: its own if it is new.
   */
  claim(keys: readonly Key[]): number[] {
    const known: number[] = [];
    for (const rows of inRows(keys)) {
      const values: (string | number)[] = [];
      let askBoth = false;
      for (const { session, eventId, revision, seq } of rows) {
        values.push(session, eventId, revision, seq);
        askBoth ||= this.#seal.hasBegun(session);
      }
      const { changes } = (askBoth ? this.#claimUnsealed : this.#claimLive).run(values);
      this.#count += changes;
      for (const key of rows) {
        const seq = changes === rows.length ? key.seq : this.#seqOf(key);
        if (seq === key.seq) this.#seal.note(key.session, seq);
        known.push(seq);
      }
    }
    return known;
  }

  /** The event that a key led to is gone (pruned): from now on the key leads to `key.seq`. */
  replace({ session, eventId, revision, seq }: Key): void {
    if (this.#findLive.get(session, eventId, revision) === undefined) this.#count++;
    this.#forgetSealed.run(session, eventId, revision);
    this.#replaceLive.run(session, eventId, revision, seq);
    this.#seal.note(session, seq);
  }

  /** After a rollback, which may have taken keys out of memory again. */
  rolledBack(): void {
    this.#count = this.#countLive.get() ?? 0;
  }

  /** Whether `sealStep` has something to do. */
  get wantsSealing(): boolean {
    return this.#seal.isUnderWay || this.#count > LIVE_KEYS;
  }

  /** Moves a few thousand keys to the file, in a transaction of its own: between commits, never inside one. */
  sealStep(): void {
    this.#count -= this.#seal.step();
  }

  #seqOf({ session, eventId, revision, seq }: Key): number {
    return (
      this.#findLive.get(session, eventId, revision) ??
      this.#findSealed.get(session, eventId, revision) ??
      seq
    );
  }
}
