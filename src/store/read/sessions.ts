import type { Database } from 'better-sqlite3';
import { OperatorError } from '../../base/operatorError.ts';
import { byName } from '../../base/visibleText.ts';
import type { Damage } from './damage.ts';
import { findBounds } from './sessionBounds.ts';
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

/** What `courtd session show` prints. */
interface SessionSummary extends SessionLine {
  readonly by_type: Readonly<Record<string, number>>;
  readonly by_court: Readonly<Record<string, number>>;
  /** Events by revision: "0" is preliminary, higher ones confirm or correct it. */
  readonly by_revision: Readonly<Record<string, number>>;
  /** Distinct events: the highest revision of each. */
  readonly current_events: number;
  /** Those whose highest revision is 0: they stayed preliminary. */
  readonly preliminary_events: number;
  readonly lateness: SessionLateness;
}

/** How long after its eot an event was received, in seconds; negative if the camera's clock is ahead of the box's. */
interface SessionLateness {
  readonly min_s: number | null;
  readonly mean_s: number | null;
  readonly max_s: number | null;
  /** Events received before their eot. */
  readonly future_events: number;
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

/** @param last how many; absent: all. @returns sessions with events, the one whose first event arrived last first. */
export function listSessions(db: Database, last = -1): SessionLine[] {
  return linesOf(db, 'events > 0 ORDER BY s.id DESC LIMIT @last', { last });
}

/** @param id of a session with events, as `sessionId` gives it. @returns its line in the list. */
export function sessionLine(db: Database, id: number): SessionLine {
  return linesOf(db, 's.id = @id', { id })[0]!;
}

type LineRow = SessionLine & { readonly id: number; readonly isBounded: number };

/** A session that has lost events does not know its first and last one for a while (sessionBounds.ts). */
function linesOf(db: Database, where: string, values: object): SessionLine[] {
  const rows = db.prepare<[object], LineRow>(`
    SELECT s.id, s.first_ns IS NOT NULL AND s.last_ns IS NOT NULL AS isBounded, s.name AS session_id, s.events, s.first_eot, s.last_eot,
           s.duplicates, (SELECT count(*) FROM conflict WHERE session = s.id) AS conflicts
      FROM session_total s WHERE ${where}`);
  return rows
    .all(values)
    .map(({ id, isBounded, ...line }) =>
      isBounded === 1 ? line : { ...line, first_eot: null, last_eot: null, ...findBounds(db, id) },
    );
}

/**
 * Reads the whole session.
 * @param damage as of readSession.
 * @throws {OperatorError} if no event of this session is stored.
 */
export function summarizeSession(db: Database, name: string, damage: Damage): SessionSummary {
  const id = sessionId(db, name);
  const [byType, byCourt, byRevision] = [new Tally(), new Tally(), new Tally()];
  let [events, current, preliminary, future, sumMs] = [0, 0, 0, 0, 0];
  let [minMs, maxMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const chunk of readSession(db, id, { damage })) {
    for (const event of chunk.events) {
      events++;
      if (event.current) current++;
      if (event.current && event.revision === 0) preliminary++;
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
    ...sessionLine(db, id),
    events,
    current_events: current,
    preliminary_events: preliminary,
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

/** Counts by name, in the order of the names. */
class Tally extends Map<string, number> {
  add(name: string): void {
    this.set(name, (this.get(name) ?? 0) + 1);
  }

  counts(): Record<string, number> {
    return Object.fromEntries([...this].sort(([a], [b]) => byName(a, b)));
  }
}
