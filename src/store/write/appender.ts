import type { Database, Statement } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/event.ts';
import { DedupIndex } from '../dedup/dedupIndex.ts';
import type { KeyEntry } from '../dedup/memtable.ts';
import { inChunks, MultiRowStatement } from '../sqlite/multiRowStatement.ts';
import { Arbiter } from './arbiter.ts';
import { NameInterner } from './nameInterner.ts';
import { SessionCounters } from './sessionCounters.ts';

/** What became of a request's events: `accepted + duplicates` is their number (spec 2.3). */
export interface Counts {
  readonly accepted: number;
  readonly duplicates: number;
  /** Of the duplicates, those with another content than the event that is stored. */
  readonly conflicts: number;
  /** Of the conflicts, those where court or source differs: two cameras share an event_id. Absent where there are none. */
  readonly sharedIds?: number;
  /** The first of those that share an id, or of the conflicts, as it was sent: for the log. */
  readonly firstConflict?: CourtEvent;
}

/** The events of a request. */
export interface Arrival {
  readonly events: readonly CourtEvent[];
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
}

/** An event on its way into the table. */
interface Candidate extends KeyEntry {
  readonly origin: number;
  readonly event: CourtEvent;
  readonly receivedMs: number;
  /** Of the request that it came with. */
  readonly counts: { -readonly [Name in keyof Counts]: Counts[Name] };
}

const COLUMNS =
  'seq, session, event_id, revision, eot_ns, eot, origin, confidence, received_ms, payload, extra';

/** Appends events to the store, once each. Call inside a transaction, then `committed` or `rolledBack`. */
export class Appender {
  readonly keys: DedupIndex;
  readonly #names: NameInterner;
  readonly #sessions: SessionCounters;
  readonly #arbiter: Arbiter;
  readonly #insert: MultiRowStatement;
  readonly #countConflict: Statement<[number, number, number]>;
  #nextSeq: number;

  constructor(db: Database) {
    // What SQLite notes to undo a statement of many rows, such as of a step of flushing, it would write to /var/tmp.
    db.pragma('temp_store = MEMORY');
    this.#names = new NameInterner(db);
    this.keys = new DedupIndex(db);
    this.#sessions = new SessionCounters(db);
    this.#arbiter = new Arbiter(db);
    // A row that fails ends the transaction, so SQLite need not be able to undo the statement alone: for that it would
    // copy every page that it changes first.
    this.#insert = new MultiRowStatement(
      db,
      11,
      (values) => `INSERT OR FAIL INTO event (${COLUMNS}) VALUES ${values}`,
    );
    this.#countConflict = db.prepare(`
      INSERT INTO conflict (session, seq, copies, last_ms) VALUES (?, ?, 1, ?)
      ON CONFLICT DO UPDATE SET copies = copies + 1, last_ms = excluded.last_ms`);
    // AUTOINCREMENT remembers the highest seq ever given, also when its event has been pruned. Should that be damaged, no seq is given
    // twice all the same, nor one whose key no start would read back.
    const last = db
      .prepare<[], number>(`
        SELECT max(ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0),
                   ifnull((SELECT max(seq) FROM event), 0), (SELECT up_to_seq FROM flushed))`)
      .pluck();
    this.#nextSeq = (last.get() ?? 0) + 1;
  }

  /**
   * All together, because a statement of many rows takes half the time of one for each.
   * @returns what became of each request's events.
   */
  append(arrivals: readonly Arrival[]): Counts[] {
    const counts = arrivals.map(({ events }): Candidate['counts'] => ({
      accepted: events.length,
      duplicates: 0,
      conflicts: 0,
    }));
    const candidates: Candidate[] = [];
    this.#names.begin();
    for (const [i, { events, receivedMs }] of arrivals.entries()) {
      for (const event of events) candidates.push(this.#candidate(event, receivedMs, counts[i]!));
    }
    const found = this.keys.findOrInsert(candidates);
    this.#insertEvents(candidates.filter((_, i) => found[i]!.length === 0));
    for (const [i, candidate] of candidates.entries()) {
      if (found[i]!.length > 0) this.#resolveDuplicate(candidate, found[i]!);
    }
    this.#sessions.write();
    return counts;
  }

  /** @param found where an event with its key may be, at the time of its claim. */
  #resolveDuplicate(candidate: Candidate, found: readonly number[]): void {
    const seqs = [...found, ...this.keys.findInMemory(candidate)];
    const first = this.#arbiter.find(candidate, seqs);
    if (first === undefined) {
      // Pruned, or another event_id with the same hash: a row that is not there is no duplicate (design 5).
      this.keys.insert(candidate);
      this.#insertEvents([candidate]);
      return;
    }
    const { counts, session, receivedMs } = candidate;
    counts.accepted--;
    counts.duplicates++;
    this.#sessions.addDuplicate(session);
    if (this.#arbiter.isSame(first, candidate)) return;
    counts.conflicts++;
    const isShared = !this.#arbiter.isOfSameCamera(first, candidate);
    // A shared id is what the log tells of, where there is one.
    if (counts.conflicts === 1 || (isShared && counts.sharedIds === undefined))
      counts.firstConflict = candidate.event;
    if (isShared) counts.sharedIds = (counts.sharedIds ?? 0) + 1;
    this.#countConflict.run(session, first.seq, receivedMs);
  }

  committed(): void {
    this.#names.committed();
    this.keys.committed();
  }

  rolledBack(): void {
    this.#sessions.rolledBack();
    this.#names.rolledBack();
    this.keys.rolledBack();
  }

  /** Whether `tidyStep` has something to do. */
  get isMaintenanceDue(): boolean {
    return this.keys.isFlushDue;
  }

  /** Moves some thousand keys to the file, where that is due: between commits. */
  maintenanceStep(): void {
    if (this.keys.isFlushDue) this.keys.flushStep();
  }

  #candidate(event: CourtEvent, receivedMs: number, counts: Candidate['counts']): Candidate {
    const { eventId, revision } = event;
    const session = this.#names.sessionId(event.sessionId);
    const origin = this.#names.originId(event);
    const hash = this.keys.hash(eventId);
    return { session, hash, revision, seq: this.#nextSeq++, origin, event, receivedMs, counts };
  }

  #insertEvents(candidates: readonly Candidate[]): void {
    for (const rows of inChunks(candidates)) {
      const values: (string | number | bigint | null)[] = [];
      for (const { seq, session, origin, event, receivedMs } of rows) {
        const { eventId, revision, eotNs, eot, confidence, payload, extra } = event;
        this.#sessions.addEvent(session, { eotNs, seq });
        values.push(
          seq,
          session,
          eventId,
          revision,
          eotNs,
          eot,
          origin,
          confidence,
          receivedMs,
          payload,
          extra,
        );
      }
      this.#insert.run(values);
    }
  }
}
