import type { Database } from 'better-sqlite3';
import { SOURCES_KNOWN } from '../../base/limits.ts';
import { DAY_MS } from '../../base/units.ts';
import { isTime } from '../layout/valueFault.ts';
import { damage } from '../sqlite/errors.ts';

/** The time span from which growth is extrapolated, at most and at least: a shorter one predicts nothing. */
const GROWTH_MS = { most: 7 * DAY_MS, least: DAY_MS } as const;
/** How far back sources are searched for among the newest events, in chunks of rows, and for how long at most. */
const RECENT = { ms: 30 * DAY_MS, chunk: 5_000, lookMs: 200 } as const;

/** What the sessions count. */
export interface EventCounts {
  readonly events: number;
  /** Sessions with events. */
  readonly sessions: number;
}

interface StoreSummary extends EventCounts {
  /** When the oldest event that is stored was received, in milliseconds since 1970-01-01T00:00:00Z. */
  readonly oldestMs: number | undefined;
  /** Bytes a day by which the database grows, less what retention deletes; undefined where that is not known yet. */
  readonly growthBytesPerDay: number | undefined;
}

interface Receipt {
  readonly seq: number;
  readonly ms: number;
}

export function countEvents(db: Database): EventCounts {
  const totals =
    'SELECT ifnull(sum(events), 0) AS events, count(*) AS sessions FROM session_total WHERE events > 0';
  return db.prepare<[], EventCounts>(totals).get()!;
}

/** How much is stored, and how fast that grows: from the times of receipt of a few dozen events. */
export function summarizeStore(db: Database, nowMs: number): StoreSummary {
  const { events, sessions } = countEvents(db);
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
    // Where retention has deleted events, it will go on: next it deletes what is the oldest now.
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

export interface RecentSource {
  readonly source: string;
  readonly court: string;
  /** When its last event was received, in milliseconds since 1970-01-01T00:00:00Z. */
  readonly lastMs: number;
}

/** @returns the sources of the newest events, at most SOURCES_KNOWN: of the last month, or of as many events as RECENT.lookMs allows. */
export function recentSources(db: Database, nowMs: number): RecentSource[] {
  const chunk = db.prepare<[number, number], { origin: number; lastMs: number; seq: number }>(`
    SELECT origin, max(received_ms) AS lastMs, min(seq) AS seq
      FROM (SELECT seq, origin, received_ms FROM event WHERE seq < ? ORDER BY seq DESC LIMIT ?) GROUP BY origin`);
  const lastOf = new Map<number, number>();
  const until = performance.now() + RECENT.lookMs;
  for (let before = Number.MAX_SAFE_INTEGER; performance.now() < until; ) {
    const rows = chunk.all(before, RECENT.chunk);
    if (rows.length === 0) break;
    if (!rows.every(({ lastMs }) => isTime(lastMs))) throw damage('event');
    for (const { origin, lastMs } of rows) lastOf.set(origin, Math.max(lastMs, lastOf.get(origin) ?? lastMs));
    before = Math.min(...rows.map(({ seq }) => seq));
    if (Math.max(...rows.map(({ lastMs }) => lastMs)) < nowMs - RECENT.ms) break;
  }
  const names = db.prepare<[number], { source: string; court: string }>(
    'SELECT source, court FROM origin WHERE id = ?',
  );
  const found = new Map<string, RecentSource>();
  for (const [origin, lastMs] of lastOf) {
    const name = names.get(origin);
    if (name === undefined || lastMs < nowMs - RECENT.ms) continue;
    const key = JSON.stringify([name.court, name.source]);
    if ((found.get(key)?.lastMs ?? 0) < lastMs) found.set(key, { ...name, lastMs });
  }
  return [...found.values()].sort((a, b) => b.lastMs - a.lastMs).slice(0, SOURCES_KNOWN);
}
