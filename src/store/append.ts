import type { Database, Statement } from 'better-sqlite3';
import { type CourtEvent, sameContent } from '../protocol/event.ts';
import { EventFinder } from './events.ts';
import { type Key, Keys } from './keys.ts';
import { Names } from './names.ts';
import { Ordering } from './order.ts';
import { inRows, RowsStatement } from './rows.ts';

/** What became of a request's events: `accepted + duplicates` is their number (spec 2.3). */
export interface Counts {
  readonly accepted: number;
  readonly duplicates: number;
  /** Of the duplicates, those with another content than the event that is stored. */
  readonly conflicts: number;
}

/** The events of a request. */
export interface Arrival {
  readonly events: readonly CourtEvent[];
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
}

/** An event on its way into the table. */
interface NewEvent extends Key {
  readonly origin: number;
  readonly event: CourtEvent;
  readonly receivedMs: number;
  /** Of the request that it came with. */
  readonly counts: { accepted: number; duplicates: number; conflicts: number };
}

const COLUMNS =
  'seq, session, event_id, revision, eot_ns, eot, origin, confidence, received_ms, payload, extra';

/** Appends events to the store, once each. Call inside a transaction, then `committed` or `rolledBack`. */
export class Appender {
  readonly keys: Keys;
  readonly #names: Names;
  readonly #order: Ordering;
  readonly #stored: EventFinder;
  readonly #insert: RowsStatement;
  readonly #countDuplicates: Statement<[number, number]>;
  readonly #noteConflict: Statement<[number, number, number]>;
  #nextSeq: number;

  constructor(db: Database) {
    this.#names = new Names(db);
    this.keys = new Keys(db);
    this.#order = new Ordering(db);
    this.#stored = new EventFinder(db);
    // A row that fails ends the transaction, so SQLite need not be able to undo the statement alone: for that it would
    // copy every page that it changes first.
    this.#insert = new RowsStatement(
      db,
      11,
      (values) => `INSERT OR FAIL INTO event (${COLUMNS}) VALUES ${values}`,
    );
    this.#countDuplicates = db.prepare('UPDATE session SET duplicates = duplicates + ? WHERE id = ?');
    this.#noteConflict = db.prepare(`
      INSERT INTO conflict (session, seq, copies, last_ms) VALUES (?, ?, 1, ?)
      ON CONFLICT DO UPDATE SET copies = copies + 1, last_ms = excluded.last_ms`);
    // AUTOINCREMENT remembers the highest seq ever given, also when its event has been pruned. But a session may be
    // sealed up to one that was rolled back: an event given it again would not be read back into `keys` at start.
    const last = db
      .prepare<[], number>(`
        SELECT max(seq) FROM (SELECT seq FROM sqlite_sequence WHERE name = 'event'
          UNION ALL SELECT max(sealed_seq) FROM session UNION ALL SELECT up_to_seq FROM sealed)`)
      .pluck();
    this.#nextSeq = (last.get() ?? 0) + 1;
  }

  /**
   * All together, because a statement of many rows takes half the time of one for each.
   * @returns what became of each request's events.
   */
  append(arrivals: readonly Arrival[]): Counts[] {
    const counts = arrivals.map(({ events }) => ({ accepted: events.length, duplicates: 0, conflicts: 0 }));
    const candidates = arrivals.flatMap(({ events, receivedMs }, i) =>
      events.map((event) => this.#candidate(event, receivedMs, counts[i]!)),
    );
    const known = this.keys.claim(candidates);
    const fresh = candidates.filter((candidate, i) => known[i] === candidate.seq);
    this.#store(fresh);
    if (fresh.length < candidates.length) this.#meetAgain(candidates, known);
    return counts;
  }

  /** @param known under which seq each is known. */
  #meetAgain(candidates: readonly NewEvent[], known: readonly number[]): void {
    // Seqs of pruned events, and the copies that took their place.
    const replaced = new Map<number, number>();
    for (const [i, candidate] of candidates.entries()) {
      const seq = known[i]!;
      if (seq === candidate.seq) continue;
      const first = this.#stored.bySeq(replaced.get(seq) ?? seq);
      if (first === undefined) {
        replaced.set(seq, candidate.seq);
        // Pruned: the key led nowhere, and a row that is not there is no duplicate (design 5).
        this.keys.replace(candidate);
        this.#store([candidate]);
        continue;
      }
      const { counts, session, event, receivedMs } = candidate;
      counts.accepted--;
      counts.duplicates++;
      this.#countDuplicates.run(1, session);
      if (sameContent(first, event)) continue;
      counts.conflicts++;
      this.#noteConflict.run(session, first.seq, receivedMs);
    }
  }

  committed(): void {
    this.#names.committed();
  }

  rolledBack(): void {
    this.#names.rolledBack();
    this.keys.rolledBack();
  }

  /** Whether `tidyStep` has something to do. */
  get wantsTidying(): boolean {
    return this.#order.isDue || this.keys.wantsSealing;
  }

  /** Puts some thousand events in order, and moves as many keys to the file, where that is due: between commits. */
  tidyStep(): void {
    if (this.keys.wantsSealing) this.keys.sealStep();
    if (this.#order.isDue) this.#order.step();
  }

  #candidate(event: CourtEvent, receivedMs: number, counts: NewEvent['counts']): NewEvent {
    const { eventId, revision } = event;
    const session = this.#names.sessionId(event.sessionId);
    const origin = this.#names.originId(event);
    return { session, eventId, revision, seq: this.#nextSeq++, origin, event, receivedMs, counts };
  }

  #store(fresh: readonly NewEvent[]): void {
    for (const rows of inRows(fresh)) {
      const values: (string | number | bigint | null)[] = [];
      for (const { seq, session, origin, event, receivedMs } of rows) {
        const { eventId, revision, eotNs, eot, confidence, payload, extra } = event;
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
    this.#order.note(fresh.length);
  }
}
