import type { Database, Statement } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { LAST_GIVEN_SEQ } from '../db/epochs.ts';
import { keyHash } from '../db/keyHash.ts';
import { Arbiter, type CameraNames, isSameEvent, otherCamera } from './arbiter.ts';
import { ConflictCopies } from './conflictCopies.ts';
import { EventInserter, type NumberedEvent } from './eventInserter.ts';
import { EventKeys, type KeyEntry, type KeyLimits } from './keys.ts';
import { readErasures } from './ledger.ts';
import { NameInterner } from './nameInterner.ts';
import { Redactor } from './redactor.ts';
import { SessionCounters } from './sessionCounters.ts';

/** The outcome for one request: `accepted + duplicates` is the number of its events (spec 2.3). */
export interface Counts {
  readonly accepted: number;
  readonly duplicates: number;
  /** Duplicates whose JSON value differs from that of the stored event. */
  readonly conflicts: number;
  /**
   * Conflicts in which the court or the source differs too: two cameras share an event_id. Absent if there are
   * none.
   */
  readonly sharedIds?: number;
  /** The first event of `sharedIds`, else the first conflict, as sent: for the log. */
  readonly firstConflict?: CourtEvent;
  /** The duplicates themselves, which telemetry counts by source. Absent if there are none. */
  readonly copies?: Copies;
}

/** The duplicates of a request, and the duplicates that are in conflict, as sent. */
export interface Copies {
  readonly all: CourtEvent[];
  readonly inConflict: Conflict[];
}

export interface Conflict {
  /** As sent. */
  readonly event: CourtEvent;
  /** The camera whose event is stored under this id; undefined if it is the same camera. */
  readonly other: CameraNames | undefined;
}

/** The events of one request. */
export interface ReceivedBatch {
  readonly events: readonly CourtEvent[];
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
}

/** An event with its key, before it is known whether the event is new. */
interface Candidate extends NumberedEvent, KeyEntry {
  /** The counts of the request that it came with. */
  readonly counts: { -readonly [Name in keyof Counts]: Counts[Name] };
}

/** Stores events, each key once. Call `append` inside a transaction, then `committed` or `rolledBack`. */
export class Appender {
  readonly keys: EventKeys;
  readonly #db: Database;
  readonly #names: NameInterner;
  readonly #redactor: Redactor;
  readonly #counters: SessionCounters;
  readonly #arbiter: Arbiter;
  readonly #events: EventInserter;
  readonly #copies: ConflictCopies;
  readonly #countDuplicate: Statement<[number]>;
  readonly #countConflict: Statement<[number, number, number]>;
  #nextSeq: number;

  constructor(db: Database, keyLimits?: KeyLimits) {
    // SQLite writes the undo journal of a multi-row statement to a temporary file: in memory, not in /var/tmp.
    db.pragma('temp_store = MEMORY');
    this.#db = db;
    this.#names = new NameInterner(db);
    this.#redactor = new Redactor(readErasures(db));
    this.keys = new EventKeys(db, keyLimits);
    this.#counters = new SessionCounters(db);
    this.#arbiter = new Arbiter(db);
    this.#copies = new ConflictCopies(db);
    this.#events = new EventInserter(db);
    this.#countDuplicate = db.prepare('UPDATE session SET duplicates = duplicates + 1 WHERE id = ?');
    this.#countConflict = db.prepare(`
      INSERT INTO conflict (session, seq, copies, last_ms) VALUES (?, ?, 1, ?)
      ON CONFLICT DO UPDATE SET copies = copies + 1, last_ms = excluded.last_ms`);
    this.#nextSeq = (db.prepare<[], number>(`SELECT ${LAST_GIVEN_SEQ}`).pluck().get() ?? 0) + 1;
  }

  /** Appends the events of all requests together. @returns the counts of each. @throws {SqliteError} if the transaction must be rolled back. */
  append(arrivals: readonly ReceivedBatch[]): Counts[] {
    const counts = arrivals.map(({ events }): Candidate['counts'] => ({
      accepted: events.length,
      duplicates: 0,
      conflicts: 0,
    }));
    const candidates: Candidate[] = [];
    for (const [i, { events, receivedMs }] of arrivals.entries()) {
      for (const event of events) candidates.push(this.#candidate(event, receivedMs, counts[i]!));
    }
    this.#arbiter.begin();
    const isNew = this.keys.insert(candidates);
    this.#events.insert(candidates.filter((_, i) => isNew[i]));
    for (const [i, candidate] of candidates.entries()) if (!isNew[i]) this.#resolveDuplicate(candidate);
    this.#copies.trim();
    this.#counters.added(candidates.length);
    return counts;
  }

  #resolveDuplicate(candidate: Candidate): void {
    const seq = this.keys.seqOf(candidate);
    const first = seq === null ? undefined : this.#arbiter.find(seq, candidate);
    if (first === undefined) {
      this.keys.replace(candidate);
      this.#events.insert([candidate]);
      return;
    }
    const { counts, session, receivedMs, event } = candidate;
    counts.accepted--;
    counts.duplicates++;
    counts.copies ??= { all: [], inConflict: [] };
    counts.copies.all.push(event);
    this.#countDuplicate.run(session);
    if (isSameEvent(first, event)) return;
    counts.conflicts++;
    const other = otherCamera(first, event);
    counts.copies.inConflict.push({ event, other });
    const isShared = other !== undefined;
    // The log names the first shared id, if there is one, rather than the first conflict.
    if (counts.conflicts === 1 || (isShared && counts.sharedIds === undefined)) counts.firstConflict = event;
    if (isShared) counts.sharedIds = (counts.sharedIds ?? 0) + 1;
    this.#countConflict.run(session, first.seq, receivedMs);
    this.#copies.add(first.seq, event);
  }

  committed(): void {
    this.keys.committed();
  }

  /** Forgets the ids of names: some have been deleted. */
  forgetNames(): void {
    this.#names.forget();
    this.#arbiter.forgetNames();
  }

  /** Takes players who have been erased since then out of what comes, too. */
  readErasures(): void {
    this.#redactor.use(readErasures(this.#db));
  }

  rolledBack(): void {
    this.#names.forget();
    this.#arbiter.forgetNames();
    this.keys.rolledBack();
  }

  #candidate(sent: CourtEvent, receivedMs: number, counts: Candidate['counts']): Candidate {
    const { eventId, revision } = sent;
    const session = this.#names.sessionId(sent.sessionId);
    const event = this.#redactor.redact(sent);
    const { id: origin, checksum: originChecksum } = this.#names.origin(event);
    const hash = keyHash(eventId);
    return {
      session,
      hash,
      revision,
      seq: this.#nextSeq++,
      origin,
      originChecksum,
      event,
      receivedMs,
      counts,
    };
  }
}
