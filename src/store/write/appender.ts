import type { Database, Transaction } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { keyHash } from '../db/keyHash.ts';
import type { StoredEvent } from '../read/storedEvent.ts';
import { type Copy, duplicatesIn } from './duplicates.ts';
import { eventRows, type NumberedEvent } from './eventRows.ts';
import { EventKeys, type KeyEntry } from './keys.ts';
import { readErasures } from './ledger.ts';
import { Redactor } from './redactor.ts';
import { SessionCounts } from './sessionCounts.ts';

/** The outcome for one request: `accepted + duplicates` is the number of its events (spec 2.3). */
export interface Counts {
  readonly accepted: number;
  readonly duplicates: number;
  /** Duplicates whose JSON value differs from that of the stored event. */
  readonly conflicts: number;
  /** The duplicates themselves, for the log and telemetry. Absent if there are none. */
  readonly copies?: readonly Copy[];
}

/** The events of one request. */
export interface ReceivedBatch {
  readonly events: readonly CourtEvent[];
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
}

/** An event with its key, before it is known whether the event is new. */
interface Candidate extends NumberedEvent, KeyEntry {
  /** The duplicates of the request that it came with. */
  readonly copies: Copy[];
}

/** Stores events, each key once. */
export class Appender {
  /** Of the successful commits; `seconds` from BEGIN to the end of COMMIT, which alone writes and syncs the WAL. */
  readonly totals = { commits: 0, requests: 0, seconds: 0, syncSeconds: 0 };
  /** When the last requests were committed, in milliseconds of the monotonic clock. */
  committedAt = Number.NEGATIVE_INFINITY;
  readonly keys: EventKeys;
  readonly #db: Database;
  readonly #beforeCommit: () => void;
  readonly #transaction: Transaction<(arrivals: readonly ReceivedBatch[]) => Counts[]>;
  #rows: ReturnType<typeof eventRows>;
  readonly #duplicates: ReturnType<typeof duplicatesIn>;
  /** Of the players who have been erased, once they have been read. */
  #redactor: Redactor | undefined;
  /** Not written with each event, which would cost a page: readers add what was not counted. */
  readonly #counts: SessionCounts;
  /** When the last transaction was complete, but for its COMMIT. */
  #filledAt = 0;

  /** @param beforeCommit writes other rows that are due, inside the same transaction. */
  constructor(db: Database, beforeCommit: () => void = () => {}) {
    // SQLite writes the undo journal of a multi-row statement to a temporary file: in memory, not in /var/tmp.
    db.pragma('temp_store = MEMORY');
    this.#db = db;
    this.#beforeCommit = beforeCommit;
    this.#transaction = db.transaction((arrivals) => this.#append(arrivals));
    this.#rows = eventRows(db);
    this.#duplicates = duplicatesIn(db);
    this.keys = new EventKeys(db);
    this.#counts = new SessionCounts(db);
  }

  /** Commits the events of all requests together. @returns the counts of each. @throws {SqliteError} after a rollback. */
  commit(arrivals: readonly ReceivedBatch[]): Counts[] {
    const beganAt = performance.now();
    try {
      const counts = this.#transaction.immediate(arrivals);
      this.committedAt = performance.now();
      this.totals.commits++;
      this.totals.requests += arrivals.length;
      this.totals.seconds += (this.committedAt - beganAt) / 1_000;
      this.totals.syncSeconds += (this.committedAt - this.#filledAt) / 1_000;
      return counts;
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  #append(arrivals: readonly ReceivedBatch[]): Counts[] {
    const copies = arrivals.map((): Copy[] => []);
    const candidates = arrivals.flatMap(({ events, receivedMs }, i) =>
      events.map((event) => this.#candidate(event, receivedMs, copies[i]!)),
    );
    const known = this.keys.insert(candidates);
    const added = candidates.filter(({ seq }) => !known.has(seq));
    this.#rows.insert(added);
    this.#counts.add(added);
    let first: StoredEvent | undefined;
    for (const candidate of candidates) {
      if (!known.has(candidate.seq)) continue;
      const seq = this.keys.seqOf(candidate);
      // A request may have the same key many times, and the stored event may be large.
      if (first?.seq !== seq) first = this.#duplicates.find(seq, candidate);
      if (first !== undefined) candidate.copies.push(this.#duplicates.count(first, candidate));
      else {
        this.keys.replace(candidate);
        this.#rows.insert([candidate]);
        this.#counts.forget();
      }
    }
    this.#counts.writeIfDue(candidates.length);
    this.#beforeCommit();
    this.#filledAt = performance.now();
    return arrivals.map(({ events }, i) => countsOf(events.length, copies[i]!));
  }

  /** Forgets names and erased players, which it reads again: they have changed, or were rolled back. */
  forget(): void {
    this.#rows = eventRows(this.#db);
    this.#redactor = undefined;
    this.#counts.forget();
  }

  #candidate(sent: CourtEvent, receivedMs: number, copies: Copy[]): Candidate {
    this.#redactor ??= new Redactor(readErasures(this.#db));
    const event = this.#redactor.redact(sent);
    const { sessionId, eventId, revision } = event;
    const [session, hash] = [this.#rows.sessionId(sessionId), keyHash(eventId)];
    return { seq: this.keys.nextSeq++, session, hash, revision, event, receivedMs, copies };
  }
}

function countsOf(events: number, copies: readonly Copy[]): Counts {
  const conflicts = copies.filter(({ isConflict }) => isConflict).length;
  const counts = { accepted: events - copies.length, duplicates: copies.length, conflicts };
  return copies.length === 0 ? counts : { ...counts, copies };
}
