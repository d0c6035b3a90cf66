import type { Database } from 'better-sqlite3';
import { DAY_MS } from '../../base/units.ts';

/** The time span from which growth is extrapolated, at most and at least: a shorter one predicts nothing. */
const GROWTH_MS = { most: 7 * DAY_MS, least: DAY_MS } as const;

interface StoreSummary {
  readonly events: number;
  /** Sessions with events. */
  readonly sessions: number;
  /** When the oldest event that is stored was received, in milliseconds since 1970-01-01T00:00:00Z. */
  readonly oldestMs: number | undefined;
  /** Bytes a day by which the database grows, less what retention deletes; undefined if that is not known yet. */
  readonly growthBytesPerDay: number | undefined;
}

interface Receipt {
  readonly seq: number;
  readonly ms: number;
}

const TOTALS =
  'SELECT ifnull(sum(events), 0) AS events, count(*) AS sessions FROM session_total WHERE events > 0';

/** How much is stored, and how fast that grows: from the times of receipt of a few dozen events. */
export function summarizeStore(db: Database, nowMs: number): StoreSummary {
  const { events, sessions } = db.prepare<[], Pick<StoreSummary, 'events' | 'sessions'>>(TOTALS).get()!;
  const at = db.prepare<[number], Receipt>(
    'SELECT seq, received_ms AS ms FROM event WHERE seq >= ? ORDER BY seq LIMIT 1',
  );
  const newest = db
    .prepare<[], Receipt>('SELECT seq, received_ms AS ms FROM event ORDER BY seq DESC LIMIT 1')
    .get();
  const oldest = at.get(0);
  if (oldest === undefined || newest === undefined) {
    return { events, sessions, oldestMs: undefined, growthBytesPerDay: undefined };
  }
  const spanMs = Math.min(nowMs - oldest.ms, GROWTH_MS.most);
  let growthBytesPerDay: number | undefined;
  if (spanMs >= GROWTH_MS.least) {
    const pragma = (name: string) => db.pragma(name, { simple: true }) as number;
    const bytes = (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
    const seqAt = (ms: number) => firstSince(at, oldest.seq, newest.seq, ms);
    const came = newest.seq + 1 - seqAt(nowMs - spanMs);
    // If retention has deleted events, it will continue: next it deletes the events that are the oldest now.
    const goes = oldest.seq > 1 ? seqAt(oldest.ms + spanMs) - oldest.seq : 0;
    const bytesPerSeq = bytes / (newest.seq + 1 - oldest.seq);
    growthBytesPerDay = ((came - goes) * bytesPerSeq * DAY_MS) / spanMs;
  }
  return { events, sessions, oldestMs: oldest.ms, growthBytesPerDay };
}

/** @returns the first seq whose event was received at this time or later, by binary search: seqs and times grow together. */
function firstSince(
  at: { get(seq: number): Receipt | undefined },
  oldest: number,
  newest: number,
  ms: number,
): number {
  let [low, high] = [oldest, newest + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = at.get(middle);
    if (row === undefined || row.ms >= ms) high = middle;
    else low = row.seq + 1;
  }
  return low;
}
