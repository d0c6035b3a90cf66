import type { Database } from 'better-sqlite3';
import { DAY_MS } from '../../base/units.ts';

/** How much is stored, and how fast that grows: from the times of receipt of a few events. */
export function summarizeStore(db: Database, nowMs: number) {
  const totals = db.prepare<[], { events: number; sessions: number }>(
    'SELECT ifnull(sum(events), 0) AS events, count(*) AS sessions FROM session_total WHERE events > 0',
  );
  const oldestMs = db.prepare<[], number>('SELECT received_ms FROM event ORDER BY seq LIMIT 1').pluck().get();
  return {
    /** `sessions` with events. */
    ...totals.get()!,
    /** When the oldest event that is stored was received, in milliseconds since 1970-01-01T00:00:00Z. */
    oldestMs,
    /** Bytes a day by which the database grows, less what retention deletes; undefined if that is not known yet. */
    growthBytesPerDay: oldestMs && growthOf(db, oldestMs, nowMs),
  };
}

/** Roughly, from the times in which the newest and the oldest quarter of the seqs came; a shorter time than a day predicts nothing. */
function growthOf(db: Database, oldestMs: number, nowMs: number) {
  if (nowMs - oldestMs < DAY_MS) return undefined;
  const [first, last] = db.prepare<[], [number, number]>('SELECT min(seq), max(seq) FROM event').raw().get()!;
  const quarter = (last - first) / 4;
  const msAt = db
    .prepare<[number], number>('SELECT received_ms FROM event WHERE seq >= ? ORDER BY seq')
    .pluck();
  const cameMs = Math.max(DAY_MS, nowMs - msAt.get(last - quarter)!);
  // If retention has deleted events, it will continue: next it deletes the events that are the oldest now.
  const goesMs =
    first > 1 ? Math.max(DAY_MS, msAt.get(first + quarter)! - oldestMs) : Number.POSITIVE_INFINITY;
  const pragma = (name: string) => db.pragma(name, { simple: true }) as number;
  const bytes = (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
  return (bytes / 4) * (DAY_MS / cameMs - DAY_MS / goesMs);
}
