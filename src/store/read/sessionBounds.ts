import type { Database } from 'better-sqlite3';
import { type EotRow, eotRows, isBefore } from './eotOrder.ts';

/**
 * Sessions that one query checks for lost bounds. And events that one transaction reads because they arrived
 * while their session was being read: ten milliseconds.
 */
const SESSIONS_PER_QUERY = 1_000;
const UNSEEN_EVENTS_MAX = 20_000;

/**
 * For queries of `session`: whether its first and its last event exist. A prune may have deleted one of them
 * (sessionCounters.ts).
 */
export const HAS_BOUNDS = `
  (EXISTS (SELECT 1 FROM event WHERE seq = first_seq) AND EXISTS (SELECT 1 FROM event WHERE seq = last_seq))`;

/** The seqs of the first and the last event of a session, by eot, then by arrival. */
export interface SessionBounds {
  readonly first: number;
  readonly last: number;
  /** The bounds consider all events up to this seq. */
  readonly lastSeq: number;
}

/**
 * Reads the whole session.
 * @returns undefined where it has no events.
 */
export function findBounds(db: Database, session: number): SessionBounds | undefined {
  const search = searchBounds(db, session);
  for (;;) {
    const { done, value } = search.next();
    if (done) return value;
  }
}

/** @yields after each of many short reads. */
function* searchBounds(db: Database, session: number): Generator<undefined, SessionBounds | undefined> {
  let [first, last]: (EotRow | undefined)[] = [];
  const reads = eotRows(db, session);
  for (;;) {
    const { done, value } = reads.next();
    if (done) return first && last && { first: first[0], last: last[0], lastSeq: value };
    for (const row of value) {
      if (first === undefined || isBefore(row, first)) first = row;
      if (last === undefined || isBefore(last, row)) last = row;
    }
    yield undefined;
  }
}

/**
 * Recomputes the bounds of sessions that have lost one to a prune. Until then, and where so many events
 * arrive meanwhile that it fails, readers compute the bounds themselves.
 * @yields steps that store them, to be called in a transaction; a millisecond or two each. Undefined after a
 * read that is not the last of its session.
 */
export function* lostBounds(db: Database): Generator<(() => void) | undefined> {
  const lost = db
    .prepare<[number, number], number>(
      `SELECT id FROM session WHERE id >= ? AND id < ? AND events > 0 AND NOT ${HAS_BOUNDS}`,
    )
    .pluck();
  const newest = db.prepare<[], number | null>('SELECT max(seq) FROM event').pluck();
  // Considers the events that arrived since the session was read. Another prune may have run meanwhile, too.
  const saveBounds = db.prepare<[SessionBounds & { session: number }]>(`
    WITH some AS (
      SELECT eot_ns, seq FROM event WHERE seq IN (@first, @last)
      UNION ALL SELECT eot_ns, seq FROM event WHERE seq > @lastSeq AND session = @session)
    UPDATE session
       SET (first_ns, first_seq) = (SELECT eot_ns, seq FROM some ORDER BY eot_ns, seq LIMIT 1),
           (last_ns, last_seq) = (SELECT eot_ns, seq FROM some ORDER BY eot_ns DESC, seq DESC LIMIT 1)
     WHERE id = @session
       AND EXISTS (SELECT 1 FROM event WHERE seq = @first) AND EXISTS (SELECT 1 FROM event WHERE seq = @last)`);
  const last = db.prepare<[], number | null>('SELECT max(id) FROM session').pluck().get() ?? 0;
  for (let id = 1; id <= last; id += SESSIONS_PER_QUERY) {
    for (const session of lost.all(id, id + SESSIONS_PER_QUERY)) {
      const bounds = yield* searchBounds(db, session);
      if (bounds === undefined) continue;
      yield () => {
        if ((newest.get() ?? 0) - bounds.lastSeq <= UNSEEN_EVENTS_MAX) saveBounds.run({ ...bounds, session });
      };
    }
  }
}
