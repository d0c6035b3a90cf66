import type { Database } from 'better-sqlite3';
import { ALWAYS, sortByEot } from './eotOrder.ts';

/**
 * Sessions whose first and last event a prune looks for at a time; and events that it looks at in a transaction because they
 * came while it read their session: ten milliseconds (sessionBounds.ts).
 */
const SESSIONS_PER_QUERY = 1_000;
const UNSEEN_EVENTS_MAX = 20_000;

/** For queries of `session`: its first and its last event are there. A prune may have deleted one (sessionCounters.ts). */
export const HAS_BOUNDS = `
  (EXISTS (SELECT 1 FROM event WHERE seq = first_seq) AND EXISTS (SELECT 1 FROM event WHERE seq = last_seq))`;

/** The seqs of the first and the last event of a session, in the order of eot, then of arrival (design 2). */
export interface SessionBounds {
  readonly first: number;
  readonly last: number;
  /** Of all events up to this seq. */
  readonly lastSeq: number;
}

/** Reads the whole session. @returns undefined where it has no events. */
export function findBounds(db: Database, session: number): SessionBounds | undefined {
  const { seqs, lastSeq } = sortByEot(db, session, ALWAYS);
  return seqs.length === 0 ? undefined : { first: seqs[0]!, last: seqs.at(-1)!, lastSeq };
}

/**
 * Finds the first and the last event of sessions that have lost one of them, for a prune. Until that is done, and where so
 * many events come meanwhile that it cannot be, a reader finds them itself.
 * @yields what notes them, to be called in a transaction; a millisecond or two.
 */
export function* lostBounds(db: Database): Generator<() => void> {
  const lost = db
    .prepare<[number, number], number>(
      `SELECT id FROM session WHERE id >= ? AND id < ? AND events > 0 AND NOT ${HAS_BOUNDS}`,
    )
    .pluck();
  const newest = db.prepare<[], number | null>('SELECT max(seq) FROM event').pluck();
  // What came since it was read is looked at now. Another prune may have come between, too.
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
      const bounds = findBounds(db, session);
      if (bounds === undefined) continue;
      yield () => {
        if ((newest.get() ?? 0) - bounds.lastSeq <= UNSEEN_EVENTS_MAX) saveBounds.run({ ...bounds, session });
      };
    }
  }
}
