import type { Database } from 'better-sqlite3';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { LOOK_ROWS } from '../db/sizes.ts';
import { sessionId } from '../read/sessions.ts';

/** Events that are looked at, for each that a step may delete. */
const LOOKS_PER_ROW = 10;

/** Which events a prune deletes: milliseconds since 1970-01-01T00:00:00Z. */
export interface PruneSelection {
  /** What was received before this is old. */
  readonly beforeMs: number;
  readonly nowMs: number;
  /** Only events of this type. */
  readonly type?: string;
  /** All events of this session, whatever their age, and no others. */
  readonly session?: string;
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
export interface ExpiredEvent {
  readonly seq: number;
  readonly session: number;
}

/** Whether other records go as well, which hold events of any type and session. */
export function isOfAll({ type, session }: PruneSelection): boolean {
  return type === undefined && session === undefined;
}

/**
 * Finds the events to delete: the log up to its last old event before the first one that is younger than the age and not in the
 * future. So what came while the clock was wrong goes with its neighbours, and a clock that is wrong now deletes little.
 */
export class ExpiredEvents {
  readonly #db: Database;
  readonly #selection: PruneSelection;
  /** How many old events are kept because they are not shipped. */
  held = 0;

  constructor(db: Database, selection: PruneSelection) {
    this.#db = db;
    this.#selection = selection;
  }

  /**
   * @param rows how many events a batch has at most.
   * @yields the events in batches, in order of arrival, each event once; a batch may be empty.
   * @throws {OperatorError} if there is no such session.
   */
  *batches(rows: () => number): Generator<readonly ExpiredEvent[]> {
    const { nowMs, beforeMs, type = null, session: name, hold } = this.#selection;
    const session = name === undefined ? null : sessionId(this.#db, name);
    const [first, end] =
      session === null ? [0, yield* this.#lastBefore(beforeMs, nowMs)] : this.#seqsOf(session);
    const heldFrom = hold ? Math.max(hold.afterSeq, yield* this.#lastBefore(hold.beforeMs, nowMs)) : end;
    const read = this.#db.prepare<[object], ExpiredEvent & { readonly isOne: number }>(`
      SELECT seq, session, (@session IS NULL OR session = @session)
             AND (@type IS NULL OR origin IN (SELECT id FROM origin WHERE type = @type)) AS isOne
        FROM event WHERE seq > @after AND seq <= @end ORDER BY seq LIMIT @looks`);
    for (let after = first; after < end; ) {
      const most = rows();
      const looked = read.all({ session, type, after, end, looks: LOOKS_PER_ROW * most });
      if (looked.length === 0) return;
      const found = looked.filter(({ isOne }) => isOne === 1).slice(0, most);
      after = found.length === most ? found.at(-1)!.seq : looked.at(-1)!.seq;
      const due = found.filter(({ seq }) => seq <= heldFrom);
      this.held += found.length - due.length;
      yield due;
    }
  }

  #seqsOf(session: number): [number, number] {
    const range = this.#db.prepare<[number], { first: number | null; last: number | null }>(
      'SELECT min(seq) AS first, max(seq) AS last FROM session_event WHERE session = ?',
    );
    const { first, last } = range.get(session)!;
    return [(first ?? 1) - 1, last ?? 0];
  }

  /** @yields nothing, after each of many short reads. @returns the seq of the last event of the prefix; 0: there is none. */
  *#lastBefore(beforeMs: number, nowMs: number): Generator<readonly ExpiredEvent[], number> {
    type Look = { readonly lastSeq: number | null; readonly lastOld: number | null; readonly young: number };
    // Before courtd existed the clock of the box cannot have been right.
    const look = this.#db.prepare<[object], Look>(`
      SELECT max(seq) AS lastSeq, max(young) AS young,
             max(iif(young = 0 AND ms >= ${EARLIEST_RECEIVED_MS} AND ms < @beforeMs, seq, NULL)) AS lastOld
        FROM (SELECT seq, received_ms AS ms, total(received_ms BETWEEN @beforeMs AND @nowMs) OVER (ORDER BY seq) AS young
                FROM (SELECT seq, received_ms FROM event WHERE seq > @after ORDER BY seq LIMIT ${LOOK_ROWS}))`);
    for (let [after, last] = [0, 0]; ; yield []) {
      const { lastSeq, lastOld, young } = look.get({ after, beforeMs, nowMs })!;
      if (lastSeq === null) return last;
      last = lastOld ?? last;
      if (young > 0) return last;
      after = lastSeq;
    }
  }
}
