import type { Database } from 'better-sqlite3';

/**
 * Sessions that one query checks for lost bounds. And events that one transaction reads because they arrived
 * while their session was being read: ten milliseconds.
 */
const SESSIONS_PER_QUERY = 1_000;
const UNSEEN_EVENTS_MAX = 20_000;

/**
 * For queries of `session s`: whether its first and its last event exist. A prune may have deleted one of them
 * (sessionCounters.ts), and a damaged number leads to another one.
 */
export const HAS_BOUNDS = `
  (EXISTS (SELECT 1 FROM event WHERE seq = first_seq AND session = s.id AND eot_ns = first_ns)
   AND EXISTS (SELECT 1 FROM event WHERE seq = last_seq AND session = s.id AND eot_ns = last_ns))`;

/** For queries of `session s`: whether it has events. A count of 0 with a first event is damaged. */
export const HAS_EVENTS =
  '(s.events <> 0 OR EXISTS (SELECT 1 FROM event WHERE seq = s.first_seq AND session = s.id))';

/** The seqs of the first and the last event of a session, by eot, then by arrival. */
interface SessionBounds {
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

/** Keys, and seqs, that one query reads: half a millisecond. */
const BOUNDS_READ = 250;

/** @yields after each of many short reads. */
function* searchBounds(db: Database, session: number): Generator<undefined, SessionBounds | undefined> {
  const number = (sql: string) => db.prepare<unknown[], number>(sql).pluck();
  // In one snapshot, so that each event is in one of the two parts, whatever is flushed meanwhile.
  const { flushedSeq, lastSeq, keys } = db.transaction(() => ({
    flushedSeq: number('SELECT up_to_seq FROM flushed').get() ?? 0,
    lastSeq: number('SELECT max(seq) FROM event').get() ?? 0,
    keys: number('SELECT count(*) FROM key WHERE session = ?').get(session) ?? 0,
  }))();
  const edges = (from: string) => {
    const row = (order: string) => `SELECT * FROM (SELECT e.eot_ns, e.seq ${from} ORDER BY ${order} LIMIT 1)`;
    const both = `${row('e.eot_ns, e.seq')} UNION ALL ${row('e.eot_ns DESC, e.seq DESC')}`;
    return db.prepare<unknown[], [eotNs: bigint, seq: bigint]>(both).raw().safeIntegers();
  };
  const keyed = edges(
    'FROM key k CROSS JOIN event e ON e.seq = k.seq AND e.session = k.session WHERE k.session = @session AND k.hash >= @from AND k.hash < @to AND k.seq <= @flushedSeq',
  );
  const later = edges('FROM event e WHERE e.seq > @from AND e.seq <= @to AND e.session = @session');
  let [first, last]: (readonly [bigint, bigint] | undefined)[] = [];
  const add = (rows: readonly (readonly [bigint, bigint])[]) => {
    for (const row of rows) {
      if (first === undefined || isBefore(row, first)) first = row;
      if (last === undefined || isBefore(last, row)) last = row;
    }
  };
  const ranges = Math.ceil((keys + 1) / BOUNDS_READ);
  const edge = (range: number) => Math.floor((range / ranges) * 2 ** 32) - 2 ** 31;
  for (let range = 0; range < ranges; range++) {
    add(keyed.all({ session, from: edge(range), to: edge(range + 1), flushedSeq }));
    yield undefined;
  }
  for (let from = flushedSeq; from < lastSeq; from += BOUNDS_READ) {
    add(later.all({ session, from, to: Math.min(from + BOUNDS_READ, lastSeq) }));
    yield undefined;
  }
  return first && last && { first: Number(first[1]), last: Number(last[1]), lastSeq };
}

function isBefore([eotNs, seq]: readonly [bigint, bigint], other: readonly [bigint, bigint]): boolean {
  return eotNs === other[0] ? seq < other[1] : eotNs < other[0];
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
      `SELECT id FROM session s WHERE id >= ? AND id < ? AND events > 0 AND NOT ${HAS_BOUNDS}`,
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
