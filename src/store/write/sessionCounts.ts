import type { Database, Statement } from 'better-sqlite3';
import { SET_COUNTED, sessionCounter } from '../db/sessionCounter.ts';
import { COUNTER_PAUSE } from '../db/sizes.ts';
import type { NumberedEvent } from './eventRows.ts';

/** Events that a session has not counted yet. */
interface Uncounted {
  session: number;
  events: number;
  /** Of the first and the last of them by eot: nanoseconds since 1970-01-01T00:00:00Z. */
  firstNs: bigint;
  firstSeq: number;
  lastNs: bigint;
  lastSeq: number;
}

/** Lets sessions count events as they are stored, from memory: to read 1,000 of them again stopped ingest for 4 ms. */
export class SessionCounts {
  /** Undefined if it is not known: then all of them are read. */
  #uncounted: Map<number, Uncounted> | undefined;
  /** The seq behind which they are counted here. A prune lets sessions count, too. */
  #from = 0;
  /** Events that have come since they were written, and when that was, in milliseconds of the monotonic clock. */
  #events = 0;
  #writtenAt = performance.now();
  readonly #countedUpTo: Statement<[], number>;
  readonly #count: Statement<[Uncounted]>;
  readonly #setCounted: Statement<[]>;
  readonly #countAll: () => void;

  constructor(db: Database) {
    const isFirst = 'events = 0 OR @firstNs < first_ns';
    const isLast = 'events = 0 OR @lastNs >= last_ns';
    const eotOf = (seq: string) => `(SELECT eot FROM event WHERE seq = ${seq})`;
    this.#count = db.prepare(`
      UPDATE session SET events = events + @events,
             first_ns = iif(${isFirst}, @firstNs, first_ns), first_eot = iif(${isFirst}, ${eotOf('@firstSeq')}, first_eot),
             last_ns = iif(${isLast}, @lastNs, last_ns), last_eot = iif(${isLast}, ${eotOf('@lastSeq')}, last_eot)
       WHERE id = @session`);
    this.#countedUpTo = db.prepare<[], number>('SELECT counted_up_to FROM flushed').pluck();
    this.#setCounted = db.prepare(SET_COUNTED);
    this.#countAll = sessionCounter(db);
  }

  /** Call it with all events that are stored, in the order of their seq. */
  add(events: readonly NumberedEvent[]): void {
    const uncounted = this.#uncounted;
    if (uncounted === undefined) return;
    for (const { session, seq, event } of events) {
      const ns = event.eotNs;
      const known = uncounted.get(session);
      if (known === undefined) {
        uncounted.set(session, { session, events: 1, firstNs: ns, firstSeq: seq, lastNs: ns, lastSeq: seq });
        continue;
      }
      known.events++;
      if (ns < known.firstNs) [known.firstNs, known.firstSeq] = [ns, seq];
      if (ns >= known.lastNs) [known.lastNs, known.lastSeq] = [ns, seq];
    }
  }

  /** Call it if what was added is not stored any more. */
  forget(): void {
    this.#uncounted = undefined;
  }

  /** Writes the counts in the transaction of the last events, unless it has done so recently. @param events that have come. */
  writeIfDue(events: number): void {
    this.#events += events;
    const now = performance.now();
    if (this.#events < COUNTER_PAUSE.events || now - this.#writtenAt < COUNTER_PAUSE.ms) return;
    if (this.#uncounted === undefined || this.#countedUpTo.get() !== this.#from) this.#countAll();
    else {
      for (const uncounted of this.#uncounted.values()) this.#count.run(uncounted);
      this.#setCounted.run();
    }
    this.#uncounted = new Map();
    this.#from = this.#countedUpTo.get()!;
    [this.#events, this.#writtenAt] = [0, now];
  }
}
