import type { Database } from 'better-sqlite3';

/** SQL: sessions have counted all events. A prune may have deleted the last ones. */
export const SET_COUNTED =
  'UPDATE flushed SET counted_up_to = max(counted_up_to, ifnull((SELECT max(seq) FROM event), 0))';

/** @returns a function that makes sessions count all events. Call it inside a transaction, before events are deleted too. */
export function sessionCounter(db: Database): () => void {
  const columns = 'events, first_ns, first_eot, last_ns, last_eot';
  const add = db.prepare(`
    UPDATE session SET (${columns}) = (t.events, t.first_ns, t.first_eot, t.last_ns, t.last_eot)
      FROM (SELECT * FROM session_total WHERE id IN (SELECT session FROM uncounted)) AS t WHERE t.id = session.id`);
  const setCounted = db.prepare(SET_COUNTED);
  return () => {
    add.run();
    setCounted.run();
  };
}
