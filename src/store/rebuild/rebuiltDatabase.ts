import { setImmediate } from 'node:timers/promises';
import Database, { type Statement } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/event.ts';
import { addErasures, type Erasure } from '../erasure/ledger.ts';
import { beginEpoch, type Epoch, readEpochs } from '../layout/epochs.ts';
import { keyHash } from '../layout/keyHash.ts';
import { makeLayout } from '../layout/schema.ts';
import { sessionCounter } from '../layout/sessionCounter.ts';
import { addCopiedTokens, type CopiedToken } from '../tokens/tokens.ts';
import { EventInserter } from '../write/eventInserter.ts';
import { NameInterner } from '../write/nameInterner.ts';

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

interface KeyedRow {
  readonly session: number;
  readonly eventId: string;
  readonly revision: number;
  readonly seq: number;
}

/**
 * A database that is made from the log of a lost one: the same events under the same seqs, in the order of arrival. It is no box's
 * until it has its name, so nothing is synced before that, and a crash leaves only what makeAside.ts removes.
 *
 * The box stored each key once, so of two events with one key it had pruned the first when the second came.
 */
export class RebuiltDatabase {
  readonly #db: Database.Database;
  readonly #names: NameInterner;
  readonly #events: EventInserter;
  readonly #putKey: Statement<[number, Buffer, number, number]>;
  readonly #findKey: Statement<[number, Buffer, number], number>;
  readonly #removals: readonly Statement<[number]>[];
  readonly #removeKey: Statement<[number, Buffer, number]>;
  /** The seqs of what the lost box had pruned before it came again. */
  readonly #superseded: number[] = [];

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
    this.#events = new EventInserter(db);
    const same = 'WHERE (session, hash, revision) = (?, ?, ?)';
    this.#putKey = db.prepare('INSERT OR REPLACE INTO key VALUES (?, ?, ?, ?)');
    this.#findKey = db.prepare<[number, Buffer, number], number>(`SELECT seq FROM key ${same}`).pluck();
    this.#removals = [db.prepare('DELETE FROM event WHERE seq = ?')];
    this.#removeKey = db.prepare(`DELETE FROM key ${same}`);
  }

  /** @param events with higher seqs than all before. */
  async add(events: readonly LoggedEvent[]): Promise<void> {
    this.#transaction(() => {
      const rows = events.map(({ seq, receivedMs, event }) => {
        const session = this.#names.sessionId(event.sessionId);
        const { id: origin, checksum: originChecksum } = this.#names.origin(event);
        this.#putKeyOf(session, event.eventId, event.revision, seq);
        return { seq, session, origin, originChecksum, event, receivedMs };
      });
      this.#events.insert(rows.filter(({ seq }) => !this.#superseded.includes(seq)));
    });
  }

  /** Removes the event that had the key before. */
  #putKeyOf(session: number, eventId: string, revision: number, seq: number): void {
    const hash = keyHash(eventId);
    const older = this.#findKey.get(session, hash, revision);
    if (older !== undefined) {
      for (const removal of this.#removals) removal.run(older);
      this.#superseded.push(older);
    }
    this.#putKey.run(session, hash, revision, seq);
  }

  /** Removes all events after a seq, as if they had never been: a restore had taken the box back to there. @returns how many. */
  async cutAfter(seq: number): Promise<number> {
    const later = this.#db.prepare<[number], KeyedRow>(
      `SELECT session, event_id AS eventId, revision, seq FROM event WHERE seq > ? LIMIT ${REMOVED_ROWS}`,
    );
    let removed = 0;
    for (let rows = later.all(seq); rows.length > 0; rows = later.all(seq)) {
      await this.#remove(rows);
      removed += rows.length;
    }
    this.#db.exec('DELETE FROM session WHERE id NOT IN (SELECT session FROM event)');
    this.#names.forget();
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
    const superseded = this.#superseded;
    const lastPruned = superseded.reduce((highest, seq) => Math.max(highest, seq), prunedSeq);
    this.#transaction(() => {
      db.exec('UPDATE flushed SET up_to = (SELECT ifnull(max(seq), 0) FROM event)');
      sessionCounter(db)();
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
    const contents = db.prepare<[], Omit<Rebuilt, 'superseded' | 'epoch'>>(`
      SELECT (SELECT ifnull(sum(events), 0) FROM session) AS events, (SELECT count(*) FROM session) AS sessions,
             (SELECT min(seq) FROM event) AS first_seq, max(seq) AS last_seq, strftime('%Y-%m-%dT%H:%M:%fZ', received_ms / 1000.0, 'unixepoch') AS newest_received_at
        FROM event`);
    return { ...contents.get()!, superseded: superseded.length, epoch: readEpochs(db).at(-1)!.name };
  }

  close(): void {
    this.#db.close();
  }

  async #remove(rows: readonly KeyedRow[]): Promise<void> {
    this.#transaction(() => {
      for (const { session, eventId, revision, seq } of rows) {
        for (const removal of this.#removals) removal.run(seq);
        this.#removeKey.run(session, keyHash(eventId), revision);
      }
    });
    await setImmediate();
  }

  #transaction(work: () => void): void {
    this.#db.transaction(work).immediate();
  }
}
