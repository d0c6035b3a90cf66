import type { Database } from 'better-sqlite3';

/** When the first and the last event of a session were, in nanoseconds since 1970-01-01T00:00:00Z, with their eots as sent. */
export interface SessionBounds {
  readonly firstNs: bigint;
  readonly firstEot: string;
  readonly lastNs: bigint;
  readonly lastEot: string;
}

type Edge = readonly [ns: bigint, eot: string];

/** Reads the whole session at once. @returns undefined if it has no events. */
export function findBounds(db: Database, session: number): SessionBounds | undefined {
  const edge = (order: string) =>
    db
      .prepare<[number], Edge>(`
        SELECT e.eot_ns, e.eot FROM session_event k CROSS JOIN event e ON e.seq = k.seq AND e.session = k.session
         WHERE k.session = ? ORDER BY ${order} LIMIT 1`)
      .safeIntegers()
      .raw()
      .get(session);
  const [first, last] = [edge('e.eot_ns, e.seq'), edge('e.eot_ns DESC, e.seq DESC')];
  return first && last && { firstNs: first[0], firstEot: first[1], lastNs: last[0], lastEot: last[1] };
}

/**
 * Finds the first and the last event again of the sessions that have lost one to a deletion. Until then readers search for them.
 * @yields a step for each session, to be called in a transaction.
 */
export function* lostBounds(db: Database): Generator<() => void> {
  const lost = db
    .prepare<[], number>('SELECT id FROM session WHERE events > 0 AND (first_ns IS NULL OR last_ns IS NULL)')
    .pluck();
  const write = db.prepare(`
    UPDATE session SET first_ns = @firstNs, first_eot = @firstEot, last_ns = @lastNs, last_eot = @lastEot WHERE id = @id`);
  for (const id of lost.all()) {
    yield () => {
      const bounds = findBounds(db, id);
      if (bounds !== undefined) write.run({ id, ...bounds });
    };
  }
}
