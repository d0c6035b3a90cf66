import type { Database, Statement } from 'better-sqlite3';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { READ_ROWS } from './pacedSteps.ts';

/** Events of which one query finds the first young one: half a millisecond. */
const LOOK_ROWS = 4_000;

/** What counts as old. Milliseconds since 1970-01-01T00:00:00Z. */
export interface Age {
  /** What was received before this is old. */
  readonly beforeMs: number;
  readonly nowMs: number;
}

/** Which events a prune deletes. */
export interface PruneSelection extends Age {
  /** Only events of this type. */
  readonly type?: string;
  /** Which events are kept for longer. */
  readonly hold?: ShipHold;
}

interface ShipHold {
  /** Headquarters has every event up to this seq. */
  readonly afterSeq: number;
  /** Later events are kept if they were received at this time or later, milliseconds since 1970-01-01T00:00:00Z. */
  readonly beforeMs: number;
}

/** An event to delete. */
interface ExpiredEvent {
  readonly seq: number;
  readonly session: number;
}

/** Before courtd existed the clock of the box cannot have been right. */
export function isOld(receivedMs: number, { beforeMs }: Age): boolean {
  return receivedMs >= EARLIEST_RECEIVED_MS && receivedMs < beforeMs;
}

/**
 * Finds the events to delete: the log up to its last old event before the first one that is younger than the age and not in the
 * future. So what came while the clock was wrong goes with its neighbours, and a clock that is wrong now deletes little.
 */
export class ExpiredEvents {
  readonly #selection: PruneSelection;
  readonly #origins: ReadonlySet<number> | undefined;
  readonly #look: Statement<[object], { readonly lastSeq: number | null; readonly youngSeq: number | null }>;
  readonly #lastOld: Statement<[object], number | null>;
  readonly #read: Statement<[number, number], ExpiredEvent & { readonly origin: number }>;
  /** How many old events are kept because they are not shipped. */
  held = 0;

  constructor(db: Database, selection: PruneSelection) {
    this.#selection = selection;
    const originsOf = db.prepare<[string], number>('SELECT id FROM origin WHERE type = ?').pluck();
    this.#origins = selection.type === undefined ? undefined : new Set(originsOf.all(selection.type));
    this.#look = db.prepare(`
      SELECT max(seq) AS lastSeq, min(iif(received_ms BETWEEN @beforeMs AND @nowMs, seq, NULL)) AS youngSeq
        FROM (SELECT seq, received_ms FROM event WHERE seq > @after ORDER BY seq LIMIT ${LOOK_ROWS})`);
    this.#lastOld = db
      .prepare<[object], number | null>(`
        SELECT max(seq) FROM event WHERE seq > @after AND seq < @end
           AND received_ms >= ${EARLIEST_RECEIVED_MS} AND received_ms < @beforeMs`)
      .pluck();
    this.#read = db.prepare(`
      SELECT seq, session, origin FROM event WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ${READ_ROWS}`);
  }

  /** @yields the events in batches, in order of arrival, each event once; a batch may be empty. */
  *batches(): Generator<readonly ExpiredEvent[]> {
    const { beforeMs, hold } = this.#selection;
    const end = yield* this.#lastBefore(beforeMs);
    const held = hold ? Math.max(hold.afterSeq, yield* this.#lastBefore(hold.beforeMs)) : end;
    for (let after = 0; after < end; ) {
      const rows = this.#read.all(after, end);
      if (rows.length === 0) return;
      after = rows.at(-1)!.seq;
      const wanted = rows.filter(({ origin }) => this.#origins?.has(origin) ?? true);
      const found = wanted.filter(({ seq }) => seq <= held);
      this.held += wanted.length - found.length;
      yield found;
    }
  }

  /** @yields nothing, after each of many short reads. @returns the seq of the last event of the prefix; 0: there is none. */
  *#lastBefore(beforeMs: number): Generator<readonly ExpiredEvent[], number> {
    const { nowMs } = this.#selection;
    for (let [after, last] = [0, 0]; ; ) {
      const { lastSeq, youngSeq } = this.#look.get({ after, beforeMs, nowMs })!;
      if (lastSeq === null) return last;
      last = this.#lastOld.get({ after, end: youngSeq ?? lastSeq + 1, beforeMs }) ?? last;
      if (youngSeq !== null) return last;
      after = lastSeq;
      yield [];
    }
  }
}
