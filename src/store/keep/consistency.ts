import type { Database } from 'better-sqlite3';
import { keyHash } from '../db/keyHash.ts';
import { damagedEvents } from './verifyDatabase.ts';

/** Each is a number; of the events behind `flushed.up_to` only the daemon has the keys. */
const COUNTS = {
  events: 'SELECT count(*) FROM event',
  keys: 'SELECT count(*) FROM key',
  // Events whose key is missing from the table: a resend would be stored again.
  withoutKey: `
    SELECT count(*) FROM event e WHERE seq <= (SELECT up_to FROM flushed) AND NOT EXISTS (
      SELECT 1 FROM key k WHERE k.session = e.session AND k.hash = key_hash(e.event_id) AND k.revision = e.revision AND k.seq = e.seq)`,
  // Keys that lead to another event, or to a missing one that no prune has deleted.
  astray: `
    SELECT count(*) FROM key k LEFT JOIN event e ON e.seq = k.seq
     WHERE iif(e.seq IS NULL, k.seq > (SELECT up_to_seq FROM pruned) AND k.seq <= (SELECT up_to FROM flushed),
               (e.session, key_hash(e.event_id), e.revision) IS NOT (k.session, k.hash, k.revision))`,
  // Events that are stored more than once.
  twice: `
    SELECT ifnull((SELECT sum(n - 1) FROM (SELECT count(*) AS n FROM event WHERE seq > (SELECT up_to FROM flushed)
                                            GROUP BY session, event_id, revision)), 0)
         + (SELECT count(*) FROM event e JOIN key k ON k.session = e.session AND k.hash = key_hash(e.event_id) AND k.revision = e.revision
              JOIN event o ON o.seq = k.seq AND o.seq <> e.seq AND o.event_id = e.event_id)`,
  // Conflicts without an event, and conflict copies without a conflict or that are not JSON.
  strayConflicts: `
    SELECT (SELECT count(*) FROM conflict c WHERE NOT EXISTS (SELECT 1 FROM event WHERE seq = c.seq AND session = c.session))
         + (SELECT count(*) FROM conflict_copy o
             WHERE (o.event IS NOT NULL AND NOT json_valid(o.event))
                OR NOT EXISTS (SELECT 1 FROM event e JOIN conflict c ON c.session = e.session AND c.seq = e.seq WHERE e.seq = o.seq))`,
  // Sessions whose counter of events is wrong.
  miscounted: `
    WITH found AS (SELECT session, count(*) AS events FROM event GROUP BY session)
    SELECT (SELECT count(*) FROM session_total s LEFT JOIN found f ON f.session = s.id WHERE s.events <> ifnull(f.events, 0))
         + (SELECT count(*) FROM found WHERE session NOT IN (SELECT id FROM session))`,
};

/** The faults of a database whose single pages are intact: each is 0 if there is none. `damaged`: events that do not match their checksum. */
export type Consistency = Readonly<Record<'damaged' | keyof typeof COUNTS, number>>;

/**
 * Reads all events and all keys in one transaction, also while the daemon runs: the WAL is kept meanwhile.
 * @param on is called with how many events were read.
 */
export function checkConsistency(db: Database, on: (events: number) => void): Consistency {
  db.function('key_hash', { deterministic: true }, keyHash);
  const number = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  return db.transaction(() => {
    const damaged = damagedEvents(db, on).events;
    const counts = Object.entries(COUNTS).map(([name, sql]) => [name, number(sql)]);
    return { damaged, ...Object.fromEntries(counts) };
  })();
}
