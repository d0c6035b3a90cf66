import type { Database } from 'better-sqlite3';
import { OperatorError } from '../../base/operatorError.ts';

/** A line of `courtd session list`. */
export interface SessionLine {
  readonly session_id: string;
  readonly events: number;
  /** As sent. */
  readonly first_eot: string | null;
  readonly last_eot: string | null;
  /** Copies that were received again and ignored. */
  readonly duplicates: number;
  /** Events of which a copy with a different JSON value was received and ignored. */
  readonly conflicts: number;
}

/**
 * The row of a session may outlive its last event, because the daemon caches its id.
 * @returns the id of a session; undefined if no event of it is stored.
 */
export function findSession(db: Database, name: string): number | undefined {
  const find = 'SELECT id FROM session_total WHERE name = ? AND events > 0';
  return db.prepare<[string], number>(find).pluck().get(name);
}

/** @returns the id of a session. @throws {OperatorError} if no event of this session is stored. */
export function sessionId(db: Database, name: string): number {
  const id = findSession(db, name);
  if (id === undefined) {
    throw new OperatorError(`There is no session ${JSON.stringify(name)}. "courtd session list" shows them.`);
  }
  return id;
}

/** The first or the last event of a session `s`, by eot: this reads the whole session. */
const edge = (columns: string, order: 'ASC' | 'DESC') => `(
  SELECT ${columns} FROM session_event k CROSS JOIN event e ON e.seq = k.seq AND e.session = k.session
   WHERE k.session = s.id ORDER BY e.eot_ns ${order}, e.seq ${order} LIMIT 1)`;

/** A session that has lost events does not know its first and last one until `lostBounds` has found them. */
const LINES = `
  SELECT s.name AS session_id, s.events, iif(s.first_ns IS NULL, ${edge('e.eot', 'ASC')}, s.first_eot) AS first_eot,
         iif(s.last_ns IS NULL, ${edge('e.eot', 'DESC')}, s.last_eot) AS last_eot,
         s.duplicates, (SELECT count(*) FROM conflict WHERE session = s.id) AS conflicts
    FROM session_total s`;

/** @param last how many; absent: all. @returns sessions with events, the one whose first event arrived last first. */
export function listSessions(db: Database, last = -1): SessionLine[] {
  return db
    .prepare<[number], SessionLine>(`${LINES} WHERE s.events > 0 ORDER BY s.id DESC LIMIT ?`)
    .all(last);
}

/** @param id of a session with events, as `sessionId` gives it. @returns its line in the list. */
export function sessionLine(db: Database, id: number): SessionLine {
  return db.prepare<[number], SessionLine>(`${LINES} WHERE s.id = ?`).get(id)!;
}

/**
 * Finds the first and the last event again of the sessions that have lost one to a deletion.
 * @yields a step for each session, to be called in a transaction.
 */
export function* lostBounds(db: Database): Generator<() => void> {
  const lost = db.prepare<[], number>(
    'SELECT id FROM session WHERE events > 0 AND (first_ns IS NULL OR last_ns IS NULL)',
  );
  const write = db.prepare<[number]>(`
    UPDATE session AS s SET (first_ns, first_eot) = ${edge('e.eot_ns, e.eot', 'ASC')},
                            (last_ns, last_eot) = ${edge('e.eot_ns, e.eot', 'DESC')} WHERE id = ?`);
  for (const id of lost.pluck().all()) yield () => void write.run(id);
}
