import { setImmediate } from 'node:timers/promises';
import Database, { type Statement } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/event.ts';
import { KeyInserter, nextKeys } from '../dedup/flush.ts';
import { type KeyHash, readKeyHash } from '../dedup/keyHash.ts';
import { type KeyEntry, Memtable } from '../dedup/memtable.ts';
import { addErasures, type Erasure } from '../erasure/ledger.ts';
import { beginEpoch, type Epoch, readEpochs } from '../layout/epochs.ts';
import { makeLayout } from '../layout/schema.ts';
import { lostBounds } from '../read/sessionBounds.ts';
import { addCopiedTokens, type CopiedToken } from '../tokens/tokens.ts';
import { EventInserter } from '../write/eventInserter.ts';
import { NameInterner } from '../write/nameInterner.ts';
import { SessionCounters } from '../write/sessionCounters.ts';

/** Keys that are sorted and written together, 36 bytes of memory each: the fewer times, the fewer pages of a long session are written again. */
const KEYS_SORTED = 1_000_000;
/** For keys, whose pages are all over the table `key`. */
const PAGE_CACHE_KIB = 64_000;
/** Events that are removed in a transaction. */
const REMOVED_ROWS = 1_000;

/** An event as the log of a lost box has it. */
export interface LoggedEvent {
  readonly seq: number;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
  readonly event: CourtEvent;
}

/** What a rebuilt database holds, as `courtd rebuild --json` prints it. Null without events. */
export interface Rebuilt {
  readonly events: number;
  readonly sessions: number;
  readonly first_seq: number | null;
  readonly last_seq: number | null;
  readonly newest_received_at: string | null;
  /** Events of which the same key came again later: the box had pruned them by then, so they were left out. */
  readonly superseded: number;
  /** The name of the epoch that it has begun. */
  readonly epoch: string;
}

type KeyedRow = Pick<KeyEntry, 'session' | 'revision' | 'seq'> & { readonly eventId: string };

/**
 * A database that is made from the log of a lost one: the same events under the same seqs, in the order of arrival. It is no box's
 * until it has its name, so nothing is synced before that, and a crash leaves only what makeAside.ts removes.
 *
 * Every key in the log is written, sorted, into the table `key` (../dedup/DESIGN.md). The box stored each key once, so of two events
 * with one key it had pruned the first when the second came.
 */
export class RebuiltDatabase {
  readonly #db: Database.Database;
  readonly #names: NameInterner;
  readonly #sessions: SessionCounters;
  readonly #hash: KeyHash;
  readonly #keyTable: KeyInserter;
  readonly #removals: readonly Statement<[number]>[];
  readonly #removeKey: Statement<[number, number, number, number]>;
  #events: EventInserter;
  #keys = new Memtable();

  /** @param file empty. */
  constructor(file: string) {
    const db = new Database(file, { fileMustExist: true });
    this.#db = db;
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('journal_mode = MEMORY');
    db.pragma('synchronous = OFF');
    db.pragma('temp_store = MEMORY');
    db.pragma(`cache_size = -${PAGE_CACHE_KIB}`);
    makeLayout(db);
    this.#names = new NameInterner(db);
    this.#sessions = new SessionCounters(db);
    this.#events = new EventInserter(db, this.#sessions);
    this.#hash = readKeyHash(db);
    this.#keyTable = new KeyInserter(db);
    this.#removals = [
      db.prepare(
        'UPDATE session SET events = events - 1 WHERE id = (SELECT session FROM event WHERE seq = ?)',
      ),
      db.prepare('DELETE FROM event WHERE seq = ?'),
    ];
    this.#removeKey = db.prepare('DELETE FROM key WHERE (session, hash, revision, seq) = (?, ?, ?, ?)');
  }

  /** @param events with higher seqs than all before. */
  async add(events: readonly LoggedEvent[]): Promise<void> {
    this.#transaction(() => {
      const rows = events.map(({ seq, receivedMs, event }) => {
        const session = this.#names.sessionId(event.sessionId);
        const { id: origin, checksum: originChecksum } = this.#names.origin(event);
        this.#keys.add({ session, hash: this.#hash(event.eventId), revision: event.revision, seq });
        return { seq, session, origin, originChecksum, event, receivedMs };
      });
      this.#events.insert(rows);
      this.#sessions.write();
    });
    if (this.#keys.length >= KEYS_SORTED) await this.#writeKeys();
  }

  /** Removes all events after a seq, as if they had never been: a restore had taken the box back to there. @returns how many. */
  async cutAfter(seq: number): Promise<number> {
    await this.#writeKeys();
    const later = this.#db.prepare<[number], KeyedRow>(
      `SELECT session, event_id AS eventId, revision, seq FROM event WHERE seq > ? LIMIT ${REMOVED_ROWS}`,
    );
    let removed = 0;
    for (let rows = later.all(seq); rows.length > 0; rows = later.all(seq)) {
      await this.#remove(rows);
      removed += rows.length;
    }
    this.#db.exec(`
      DELETE FROM session WHERE events = 0;
      UPDATE sqlite_sequence SET seq = (SELECT ifnull(max(seq), 0) FROM event) WHERE name = 'event';`);
    this.#names.forget();
    this.#events = new EventInserter(this.#db, this.#sessions);
    return removed;
  }

  /**
   * Completes it; it is not synced.
   * @param epochs of the lost log, the current one last; none where they are not known.
   * @param ledger has been applied to what was added.
   * @param prunedSeq the lost box may have pruned events up to here.
   */
  async finish(
    epochs: readonly Epoch[],
    tokens: readonly CopiedToken[],
    ledger: readonly Erasure[],
    prunedSeq: number,
  ): Promise<Rebuilt> {
    const db = this.#db;
    await this.#writeKeys();
    const superseded = await this.#removeSuperseded();
    const lastPruned = superseded.reduce((highest, seq) => Math.max(highest, seq), prunedSeq);
    this.#transaction(() => {
      db.exec('UPDATE flushed SET up_to_seq = (SELECT ifnull(max(seq), 0) FROM event)');
      db.prepare('UPDATE pruned SET up_to_seq = ?').run(lastPruned);
      addCopiedTokens(db, tokens);
      addErasures(db, ledger);
      if (epochs.length === 0) return;
      db.exec('DELETE FROM epoch');
      const addEpoch = db.prepare(
        'INSERT INTO epoch (name, from_seq, shipped_seq) VALUES (@name, @fromSeq, @shippedSeq)',
      );
      for (const { name, fromSeq, shippedSeq = null } of epochs) addEpoch.run({ name, fromSeq, shippedSeq });
      beginEpoch(db);
    });
    // Of the sessions that have lost their first or last event above.
    for (const step of lostBounds(db)) {
      step?.();
      await setImmediate();
    }
    const contents = db.prepare<[], Omit<Rebuilt, 'superseded' | 'epoch'>>(`
      SELECT (SELECT ifnull(sum(events), 0) FROM session) AS events, (SELECT count(*) FROM session) AS sessions,
             (SELECT min(seq) FROM event) AS first_seq, max(seq) AS last_seq, strftime('%Y-%m-%dT%H:%M:%fZ', received_ms / 1000.0, 'unixepoch') AS newest_received_at
        FROM event`);
    return { ...contents.get()!, superseded: superseded.length, epoch: readEpochs(db).at(-1)!.name };
  }

  close(): void {
    this.#db.close();
  }

  /** In steps, between which signals are handled. */
  async #writeKeys(): Promise<void> {
    const sorted = this.#keys.inKeyOrder();
    this.#keys = new Memtable();
    for (let some = nextKeys(sorted); some.length > 0; some = nextKeys(sorted)) {
      this.#transaction(() => this.#keyTable.insert(some));
      await setImmediate();
    }
  }

  /** @returns the seqs of what the lost box had pruned before it came again. */
  async #removeSuperseded(): Promise<number[]> {
    const shared = this.#db.prepare<[], Omit<KeyEntry, 'seq'>>(
      'SELECT session, hash, revision FROM key GROUP BY session, hash, revision HAVING count(*) > 1',
    );
    const newestFirst = this.#db.prepare<[object], KeyedRow>(`
      SELECT e.session, e.event_id AS eventId, e.revision, e.seq FROM key k JOIN event e ON e.seq = k.seq
       WHERE k.session = @session AND k.hash = @hash AND k.revision = @revision ORDER BY k.seq DESC`);
    const removed: number[] = [];
    for (const key of shared.all()) {
      const known = new Set<string>();
      // Other event_ids may have the same hash.
      const older = newestFirst.all(key).filter(({ eventId }) => known.size === known.add(eventId).size);
      await this.#remove(older);
      for (const { seq } of older) removed.push(seq);
    }
    return removed;
  }

  /** Their keys have been written. */
  async #remove(rows: readonly KeyedRow[]): Promise<void> {
    this.#transaction(() => {
      for (const { session, eventId, revision, seq } of rows) {
        for (const removal of this.#removals) removal.run(seq);
        this.#removeKey.run(session, this.#hash(eventId), revision, seq);
      }
    });
    await setImmediate();
  }

  #transaction(work: () => void): void {
    this.#db.transaction(work).immediate();
  }
}
