import type { Database } from 'better-sqlite3';

const edge = (order: 'ASC' | 'DESC') => `
  SELECT e.eot_ns AS ns, e.eot FROM session_event k CROSS JOIN event e ON e.seq = k.seq AND e.session = k.session
   WHERE k.session = @id ORDER BY e.eot_ns ${order}, e.seq ${order} LIMIT 1`;
/** The first and the last event of a session, by eot: this reads the whole session. */
const EDGES = `FROM (${edge('ASC')}) AS first JOIN (${edge('DESC')}) AS last`;

/** @returns the eots of the first and the last event of a session, as sent; undefined if it has no events. */
export function findBounds(db: Database, id: number): { first_eot: string; last_eot: string } | undefined {
  return db
    .prepare<[{ id: number }], { first_eot: string; last_eot: string }>(
      `SELECT first.eot AS first_eot, last.eot AS last_eot ${EDGES}`,
    )
    .get({ id });
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
    UPDATE session SET (first_ns, first_eot, last_ns, last_eot) = (SELECT first.ns, first.eot, last.ns, last.eot ${EDGES})
     WHERE id = @id`);
  for (const id of lost.all()) yield () => void write.run({ id });
}
