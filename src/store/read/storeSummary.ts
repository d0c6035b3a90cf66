import type { Database, Statement } from 'better-sqlite3';
import { DAY_MS } from '../../base/units.ts';

/** The time span from which growth is extrapolated, at most and at least: a shorter one predicts nothing. */
const GROWTH_MS = { most: 7 * DAY_MS, least: DAY_MS } as const;

type Receipt = { readonly seq: number; readonly ms: number };

/** How much is stored, and how fast that grows: from the times of receipt of a few dozen events. */
export function summarizeStore(db: Database, nowMs: number) {
  const totals = db.prepare<[], { events: number; sessions: number }>(
    'SELECT ifnull(sum(events), 0) AS events, count(*) AS sessions FROM session_total WHERE events > 0',
  );
  const from = db.prepare<[number], Receipt>(
    'SELECT seq, received_ms AS ms FROM event WHERE seq >= ? ORDER BY seq LIMIT 1',
  );
  const oldest = from.get(0);
  return {
    /** `sessions` with events. */
    ...totals.get()!,
    /** When the oldest event that is stored was received, in milliseconds since 1970-01-01T00:00:00Z. */
    oldestMs: oldest?.ms,
    /** Bytes a day by which the database grows, less what retention deletes; undefined if that is not known yet. */
    growthBytesPerDay: oldest && growthOf(db, from, oldest, nowMs),
  };
}

function growthOf(db: Database, from: Statement<[number], Receipt>, oldest: Receipt, nowMs: number) {
  const spanMs = Math.min(nowMs - oldest.ms, GROWTH_MS.most);
  if (spanMs < GROWTH_MS.least) return undefined;
  const pragma = (name: string) => db.pragma(name, { simple: true }) as number;
  const bytes = (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
  const end = db.prepare<[], number>('SELECT max(seq) + 1 FROM event').pluck().get()!;
  /** The first seq whose event was received at this time or later, by binary search: seqs and times grow together. */
  const seqAt = (ms: number) => {
    let [low, high] = [oldest.seq, end];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = from.get(middle);
      if (row === undefined || row.ms >= ms) high = middle;
      else low = row.seq + 1;
    }
    return low;
  };
  const came = end - seqAt(nowMs - spanMs);
  // If retention has deleted events, it will continue: next it deletes the events that are the oldest now.
  const goes = oldest.seq > 1 ? seqAt(oldest.ms + spanMs) - oldest.seq : 0;
  return ((came - goes) * (bytes / (end - oldest.seq)) * DAY_MS) / spanMs;
}
