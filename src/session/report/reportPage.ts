import type { Database } from 'better-sqlite3';
import { DAY_MS, NS_PER_MS } from '../../base/units.ts';
import type { CourtName } from '../../protocol/courtLines.ts';
import { eotToNs } from '../../protocol/eot.ts';
import { Damage } from '../../store/read/damage.ts';
import { type EventFilter, readSession } from '../../store/read/sessionReader.ts';
import { sessionLine } from '../../store/read/sessions.ts';
import { SessionTally } from '../analysis/sessionTally.ts';
import { pageOf } from './page.ts';

/**
 * Reads a session once, or twice if its events are more than a day apart.
 * @param id of a session with events.
 * @param damage takes the damaged events, which are left out.
 * @returns the page.
 */
export function reportOf(db: Database, id: number, lines: CourtName, damage: Damage): string {
  const line = sessionLine(db, id);
  const { range, all } = rangeOf(db, id, line.first_eot, line.last_eot);
  const tally = new SessionTally(lines);
  for (const { events } of readSession(db, id, { ...range, damage }))
    for (const event of events) tally.add(event);
  tally.end();
  return pageOf({ line, tally, oddTimes: Math.max(0, (all ?? tally.events) - tally.events) });
}

/** A camera without a clock battery says 1970 until NTP answers. @returns a day on both sides of the median eot, and how many events there are in all. */
function rangeOf(
  db: Database,
  id: number,
  ...[first, last]: (string | null)[]
): { range: EventFilter; all?: number } {
  const [firstNs, lastNs] = [first, last].map((eot) => eotToNs(eot ?? ''));
  const dayNs = BigInt(DAY_MS) * NS_PER_MS;
  if (firstNs === undefined || lastNs === undefined || lastNs - firstNs <= dayNs) return { range: {} };
  const times: number[] = [];
  for (const { events } of readSession(db, id, { damage: new Damage() }))
    for (const { eotMs } of events) times.push(eotMs);
  const medianNs = BigInt(times[Math.floor(times.length / 2)] ?? 0) * NS_PER_MS;
  return { range: { fromNs: medianNs - dayNs, toNs: medianNs + dayNs + 1n }, all: times.length };
}
