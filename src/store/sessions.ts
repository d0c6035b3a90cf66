import type { Database, Statement } from 'better-sqlite3';
import { StoreError } from './failure.ts';
import { HAS_EVENTS, noteOrder } from './order.ts';
import { readSession } from './reader.ts';

/** A line of `courtd session list`. */
export interface SessionLine {
  readonly session_id: string;
  readonly events: number;
  /** As sent. */
  readonly first_eot: string | null;
  readonly last_eot: string | null;
  /** Copies that came again and were ignored. */
  readonly duplicates: number;
  /** Events of which a copy with other content came and was ignored. */
  readonly conflicts: number;
}

/** What `courtd session show` tells. */
export interface SessionSummary extends SessionLine {
  readonly by_type: Readonly<Record<string, number>>;
  readonly by_court: Readonly<Record<string, number>>;
  /** Events by revision: "0" is preliminary, higher ones confirm or correct. */
  readonly by_revision: Readonly<Record<string, number>>;
  /** Events whose highest revision is counted once. */
  readonly current_events: number;
  readonly lateness: Lateness;
}

/** How long after its eot an event arrived, in seconds; below zero: the camera's clock is ahead of the box's. */
export interface Lateness {
  readonly min_s: number | null;
  readonly mean_s: number | null;
  readonly max_s: number | null;
  /** Events that arrived before they happened. */
  readonly future_events: number;
}

/**
 * The row of a session whose events have all been pruned stays: the daemon remembers its id.
 * @throws {StoreError} where no event of this session is stored.
 */
export function sessionId(db: Database, name: string): number {
  const find = `SELECT id FROM session WHERE name = ? AND ${HAS_EVENTS}`;
  const id = db.prepare<[string], number>(find).pluck().get(name);
  if (id === undefined) {
    throw new StoreError(`There is no session ${JSON.stringify(name)}: "courtd session list" shows them.`);
  }
  return id;
}

/** @yields every session in the order of its first arrival: a short query each, so that none pins the log for long. */
export function* listSessions(db: Database): Generator<SessionLine> {
  const find = `SELECT id FROM session WHERE ${HAS_EVENTS} ORDER BY id`;
  const ids = db.prepare<[], number>(find).pluck().all();
  // After them, so that none of them is without events.
  noteOrder(db);
  const line = sessionLine(db);
  for (const id of ids) yield line.get({ id })!;
}

/** @param db has the order noted. */
function sessionLine(db: Database): Statement<[{ id: number }], SessionLine> {
  // Both columns are asked for, or SQLite would sort the whole session.
  const edge = (direction: 'ASC' | 'DESC') =>
    `(SELECT eot FROM event WHERE seq = (SELECT seq FROM (
       SELECT eot_ns, seq FROM temp.in_order WHERE session = @id ORDER BY eot_ns ${direction}, seq ${direction} LIMIT 1)))`;
  return db.prepare<[{ id: number }], SessionLine>(`
      SELECT s.name AS session_id, (SELECT count(*) FROM temp.in_order WHERE session = @id) AS events,
             ${edge('ASC')} AS first_eot, ${edge('DESC')} AS last_eot, s.duplicates,
             (SELECT count(*) FROM conflict WHERE session = @id) AS conflicts
        FROM session s WHERE s.id = @id`);
}

/** @throws {StoreError} where no event of this session is stored. */
export function summarizeSession(db: Database, name: string): SessionSummary {
  const id = sessionId(db, name);
  const [byType, byCourt, byRevision] = [new Tally(), new Tally(), new Tally()];
  let [events, current, future, sumMs] = [0, 0, 0, 0];
  let [minMs, maxMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const chunk of readSession(db, id)) {
    for (const event of chunk.events) {
      events++;
      if (event.current) current++;
      byType.add(event.type);
      byCourt.add(event.courtId);
      byRevision.add(String(event.revision));
      const lateMs = event.receivedMs - event.eotMs;
      if (lateMs < 0) future++;
      minMs = Math.min(minMs, lateMs);
      maxMs = Math.max(maxMs, lateMs);
      sumMs += lateMs;
    }
  }
  const seconds = (ms: number) => (events === 0 ? null : Math.round(ms) / 1000);
  return {
    ...sessionLine(db).get({ id })!,
    events,
    current_events: current,
    by_type: byType.counts(),
    by_court: byCourt.counts(),
    by_revision: byRevision.counts(),
    lateness: {
      min_s: seconds(minMs),
      mean_s: seconds(sumMs / events),
      max_s: seconds(maxMs),
      future_events: future,
    },
  };
}

/** Counts by name, told in the order of the names. */
class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  counts(): Record<string, number> {
    const sorted = [...this.#counts].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
    return Object.fromEntries(sorted);
  }
}
