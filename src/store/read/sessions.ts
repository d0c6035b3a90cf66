import type { Database } from 'better-sqlite3';
import { OperatorError } from '../../base/operatorError.ts';
import { byName } from '../../base/visibleText.ts';
import type { Damage } from './damage.ts';
import { readSession } from './sessionReader.ts';

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

/**
 * Reads the whole session. @returns what `courtd session show` prints.
 * @param damage as of readSession.
 * @throws {OperatorError} if no event of this session is stored.
 */
export function summarizeSession(db: Database, name: string, damage: Damage) {
  const id = sessionId(db, name);
  const [types, courts, revisions] = [new Tally(), new Tally(), new Tally()];
  let [events, current, preliminary, future, sumMs] = [0, 0, 0, 0, 0];
  let [minMs, maxMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const chunk of readSession(db, id, {}, damage).chunks) {
    for (const event of chunk) {
      events++;
      if (event.current) current++;
      if (event.current && event.revision === 0) preliminary++;
      types.add(event.type);
      courts.add(event.courtId);
      revisions.add(String(event.revision));
      const lateMs = event.receivedMs - event.eotMs;
      if (lateMs < 0) future++;
      minMs = Math.min(minMs, lateMs);
      maxMs = Math.max(maxMs, lateMs);
      sumMs += lateMs;
    }
  }
  const seconds = (ms: number) => (events === 0 ? null : Math.round(ms) / 1000);
  return {
    ...sessionLine(db, id),
    events,
    /** Distinct events: the highest revision of each. */
    current_events: current,
    /** Those whose highest revision is 0: they stayed preliminary. */
    preliminary_events: preliminary,
    by_type: types.counts(),
    by_court: courts.counts(),
    /** "0" is preliminary, higher ones confirm or correct it. */
    by_revision: revisions.counts(),
    /** How long after its eot an event was received; negative if the camera's clock is ahead of the box's. */
    lateness: {
      min_s: seconds(minMs),
      mean_s: seconds(sumMs / events),
      max_s: seconds(maxMs),
      /** Events received before their eot. */
      future_events: future,
    },
  };
}

/** Counts by name, in the order of the names. */
class Tally extends Map<string, number> {
  add(name: string): void {
    this.set(name, (this.get(name) ?? 0) + 1);
  }

  counts(): Record<string, number> {
    return Object.fromEntries([...this].sort(([a], [b]) => byName(a, b)));
  }
}
