import type { Database } from 'better-sqlite3';
import { byName } from '../../base/visibleText.ts';
import type { Damage } from '../../store/read/damage.ts';
import { readSession } from '../../store/read/sessionReader.ts';
import { sessionId, sessionLine } from '../../store/read/sessions.ts';

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
