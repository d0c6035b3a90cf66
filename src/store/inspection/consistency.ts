import { setImmediate } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { readKeyHash } from '../dedup/keyHash.ts';
import type { KeyEntry } from '../dedup/memtable.ts';
import { ARRIVAL_COLUMNS, ArrivalDecoder, type ArrivalRow } from '../read/arrivalRow.ts';
import { Damage } from '../read/damage.ts';

/** What is wrong in a database, even if every single page is intact: all faults are 0 where nothing is. */
export interface Consistency {
  /** How many were checked. */
  readonly events: number;
  readonly keys: number;
  /** Events that do not match their checksum. */
  readonly damaged: number;
  /** Events whose key is missing from the table: a resend would be stored again. */
  readonly withoutKey: number;
  /** Keys that lead to another event, or to a missing one that no prune has deleted. */
  readonly astray: number;
  /** Events that are stored more than once. */
  readonly twice: number;
  /** Conflicts without an event, and conflict copies without a conflict or that are not JSON. */
  readonly strayConflicts: number;
  /** Sessions whose counter of events is wrong. */
  readonly miscounted: number;
  /** Sessions that were pruned meanwhile: their counters cannot be checked. */
  readonly pruned: number;
}

export type OnProgress = (done: number, of: number) => void;

/** Rows of one read, which takes a few milliseconds: the WAL is not pinned for longer. */
const CHUNK_ROWS = 1_000;

type Faults = { -readonly [Name in keyof Consistency]: number };

/** Reads all events and all keys, CHUNK_ROWS at a time, beside a running daemon and a prune. */
export function checkConsistency(db: Database, told: OnProgress): Promise<Consistency> {
  return new Inspection(db).run(told);
}

class Inspection {
  readonly #db: Database;
  readonly #faults: Faults = {
    events: 0,
    keys: 0,
    damaged: 0,
    withoutKey: 0,
    astray: 0,
    twice: 0,
    strayConflicts: 0,
    miscounted: 0,
    pruned: 0,
  };
  /** By session: the counter of events when the check began. */
  readonly #counted = new Map<number, number>();
  /** By session: that counter, less the events that were found. */
  readonly #left: Map<number, number>;
  /** The newest event when the check began; later ones are not checked. */
  readonly #lastSeq: number;

  constructor(db: Database) {
    this.#db = db;
    const counters = db.prepare<[], [number, number]>('SELECT id, events FROM session').raw();
    const lastSeq = db.prepare<[], number>('SELECT coalesce(max(seq), 0) FROM event').pluck();
    const begin = db.transaction(() => {
      for (const [id, events] of counters.iterate()) this.#counted.set(id, events);
      return lastSeq.get()!;
    });
    this.#lastSeq = begin();
    this.#left = new Map(this.#counted);
  }

  async run(told: OnProgress): Promise<Consistency> {
    const counted = this.#counted.values().reduce((sum, events) => sum + events, 0);
    // Each event is read once, and its key once.
    const tell = () => told(this.#faults.events + this.#faults.keys, 2 * counted);
    for (const _ of this.#events()) {
      tell();
      await setImmediate();
    }
    for (const _ of this.#keys()) {
      tell();
      await setImmediate();
    }
    for (const _ of this.#conflicts()) await setImmediate();
    this.#counters();
    return this.#faults;
  }

  *#conflicts(): Generator<void> {
    const chunk = this.#db
      .prepare<[number, number], [number, number, number]>(`
        SELECT c.session, c.seq, EXISTS (SELECT 1 FROM event WHERE seq = c.seq AND session = c.session)
          FROM conflict c WHERE (c.session, c.seq) > (?, ?) ORDER BY c.session, c.seq LIMIT ${CHUNK_ROWS}`)
      .raw();
    for (let before: readonly [number, number] = [-1, 0]; ; ) {
      const rows = chunk.all(...before);
      this.#faults.strayConflicts += rows.filter(([, , hasEvent]) => hasEvent !== 1).length;
      const last = rows.at(-1);
      if (last === undefined || rows.length < CHUNK_ROWS) break;
      before = [last[0], last[1]];
      yield;
    }
    const copies = this.#db.prepare<[], number>(`
      SELECT count(*) FROM conflict_copy o
       WHERE (o.event IS NOT NULL AND NOT json_valid(o.event))
          OR NOT EXISTS (SELECT 1 FROM event e JOIN conflict c ON c.session = e.session AND c.seq = e.seq WHERE e.seq = o.seq)`);
    this.#faults.strayConflicts += copies.pluck().get() ?? 0;
  }

  *#events(): Generator<void> {
    const db = this.#db;
    const chunk = db
      .prepare<[number, number], [...ArrivalRow, session: number]>(`
        SELECT ${ARRIVAL_COLUMNS}, e.session FROM event e WHERE e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ${CHUNK_ROWS}`)
      .raw();
    const decoder = new ArrivalDecoder(db);
    const flushed = db.prepare<[], number>('SELECT up_to_seq FROM flushed').pluck();
    const hasKey = db
      .prepare<[number, number, number, number], number>(
        'SELECT 1 FROM key WHERE session = ? AND hash = ? AND revision = ? AND seq = ?',
      )
      .pluck();
    const hash = readKeyHash(db);
    const look = db.transaction((after: number) => {
      const upTo = flushed.get()!;
      const rows = chunk.all(after, this.#lastSeq);
      for (const row of rows) {
        const [seq, session, event] = [
          row[0],
          row[15],
          decoder.event(row as unknown as ArrivalRow, new Damage()),
        ];
        const left = this.#left.get(session);
        if (left !== undefined) this.#left.set(session, left - 1);
        if (event === undefined) this.#faults.damaged++;
        else if (seq <= upTo && hasKey.get(session, hash(event.eventId), event.revision, seq) !== 1) {
          this.#faults.withoutKey++;
        }
      }
      this.#faults.events += rows.length;
      return rows.at(-1)?.[0];
    });
    for (let after: number | undefined = 0; after !== undefined; ) {
      after = look(after);
      yield;
    }
  }

  *#keys(): Generator<void> {
    const chunk = this.#db.prepare<[number, number, number, number], KeyLine>(`
      SELECT k.session, k.hash, k.revision, k.seq, e.session AS ownSession, e.event_id AS eventId,
             e.revision AS ownRevision, ifnull((SELECT dangling_up_to_seq FROM session WHERE id = k.session),
               (SELECT up_to_seq FROM pruned)) AS danglingUpToSeq
        FROM key k LEFT JOIN event e ON e.seq = k.seq
       WHERE (k.session, k.hash, k.revision, k.seq) > (?, ?, ?, ?)
       ORDER BY k.session, k.hash, k.revision, k.seq LIMIT ${CHUNK_ROWS}`);
    const hash = readKeyHash(this.#db);
    let before: KeyLine | undefined;
    for (;;) {
      const { session, hash: h, revision, seq } = before ?? { session: -1, hash: 0, revision: 0, seq: 0 };
      const rows = chunk.all(session, h, revision, seq);
      for (const row of rows) {
        if (isAstray(row, hash)) this.#faults.astray++;
        else if (before !== undefined && isSameEvent(before, row)) this.#faults.twice++;
        before = row;
      }
      this.#faults.keys += rows.length;
      if (rows.length < CHUNK_ROWS) return;
      yield;
    }
  }

  /** A prune may have deleted events before they were found. The counters of their sessions are then lower than expected. */
  #counters(): void {
    const off = [...this.#left].filter(([, left]) => left !== 0).map(([id]) => id);
    if (off.length === 0) return;
    const counter = this.#db.prepare<[number], number>('SELECT events FROM session WHERE id = ?').pluck();
    const since = this.#db
      .prepare<[number], [number, number]>(
        'SELECT session, count(*) FROM event WHERE seq > ? GROUP BY session',
      )
      .raw();
    const compare = this.#db.transaction(() => {
      const added = new Map(since.all(this.#lastSeq));
      for (const id of off) {
        const isSteady = counter.get(id) === this.#counted.get(id)! + (added.get(id) ?? 0);
        this.#faults[isSteady ? 'miscounted' : 'pruned']++;
      }
    });
    compare();
  }
}

/** A key and the event that it leads to. */
interface KeyLine extends KeyEntry {
  readonly ownSession: number | null;
  readonly eventId: string | null;
  readonly ownRevision: number | null;
  /** Events up to this seq may have been pruned, and their keys left (danglingKeys.ts, and unusedNames.ts where the session went too). */
  readonly danglingUpToSeq: number;
}

function isAstray(key: KeyLine, hash: (eventId: string) => number): boolean {
  if (key.eventId === null) return key.seq > key.danglingUpToSeq;
  return key.ownSession !== key.session || key.ownRevision !== key.revision || hash(key.eventId) !== key.hash;
}

function isSameEvent(a: KeyLine, b: KeyLine): boolean {
  return (
    a.eventId !== null && a.eventId === b.eventId && a.session === b.session && a.revision === b.revision
  );
}
