import type { Database, Statement } from 'better-sqlite3';

/** The position of an event in its session: by eot, then by arrival. */
interface Position {
  /** Nanoseconds since 1970-01-01T00:00:00Z. */
  readonly eotNs: bigint;
  readonly seq: number;
}

/** What a session has received since the last `write`. */
interface Delta {
  events: number;
  duplicates: number;
  first: Position | undefined;
  last: Position | undefined;
}

/**
 * Counts the events of each session and records its first and last one, in the transaction that stores them,
 * so that `courtd session list` reads no events. A prune subtracts what it deletes (prune.ts). Where it
 * deletes the first or the last event, no row has the recorded seq any more: that is how readers notice
 * (sessionBounds.ts).
 */
export class SessionCounters {
  readonly #deltas = new Map<number, Delta>();
  readonly #addEvents: Statement<[object]>;
  readonly #addDuplicates: Statement<[number, number]>;

  constructor(db: Database) {
    this.#addEvents = db.prepare(`
      UPDATE session
         SET events = events + @events,
             first_ns = iif(events = 0, @firstNs, min(first_ns, @firstNs)),
             first_seq = iif(events = 0 OR @firstNs < first_ns, @firstSeq, first_seq),
             last_ns = iif(events = 0, @lastNs, max(last_ns, @lastNs)),
             last_seq = iif(events = 0 OR @lastNs >= last_ns, @lastSeq, last_seq)
       WHERE id = @session`);
    this.#addDuplicates = db.prepare('UPDATE session SET duplicates = duplicates + ? WHERE id = ?');
  }

  /** Counts a new event of a session. Makes a `Position` only of the first and the last: most events are neither. */
  addEvent(session: number, eotNs: bigint, seq: number): void {
    const delta = this.#deltaOf(session);
    delta.events++;
    const { first, last } = delta;
    if (first === undefined || eotNs < first.eotNs || (eotNs === first.eotNs && seq < first.seq))
      delta.first = { eotNs, seq };
    if (last === undefined || eotNs > last.eotNs || (eotNs === last.eotNs && seq > last.seq))
      delta.last = { eotNs, seq };
  }

  /** Counts a duplicate of a session. */
  addDuplicate(session: number): void {
    this.#deltaOf(session).duplicates++;
  }

  /**
   * Writes the counters. Call it before the commit.
   * @throws {Error} where the row of a session does not exist.
   */
  write(): void {
    for (const [session, { events, duplicates, first, last }] of this.#deltas) {
      if (first !== undefined && last !== undefined) {
        const [firstNs, firstSeq, lastNs, lastSeq] = [first.eotNs, first.seq, last.eotNs, last.seq];
        const { changes } = this.#addEvents.run({ session, events, firstNs, firstSeq, lastNs, lastSeq });
        // No reader could find these events (nameInterner.ts).
        if (changes !== 1) throw new Error('the row of a session that got events does not exist');
      }
      if (duplicates > 0) this.#addDuplicates.run(duplicates, session);
    }
    this.#deltas.clear();
  }

  /** Forgets everything since the last commit. */
  rolledBack(): void {
    this.#deltas.clear();
  }

  #deltaOf(session: number): Delta {
    const existing = this.#deltas.get(session);
    if (existing !== undefined) return existing;
    const delta = { events: 0, duplicates: 0, first: undefined, last: undefined };
    this.#deltas.set(session, delta);
    return delta;
  }
}
