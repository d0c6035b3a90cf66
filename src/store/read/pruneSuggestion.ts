import type { Database } from 'better-sqlite3';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { DAY_MS } from '../../base/units.ts';

/** Events that are looked at, spread evenly over the order of arrival. */
const PROBES = 64;
/** Ages as `prune --older-than` takes them, the oldest first. */
const AGES_D = [365, 180, 90, 30, 14, 7, 3, 1] as const;
/** What frees less is no help. */
const PART = 1 / 4;

/** The prune that makes room and deletes the least. */
export interface PruneSuggestion {
  /** As `--older-than` takes it. */
  readonly olderThan: string;
  /** About what it frees. */
  readonly bytes: number;
}

/** @returns when a few dozen events were received, in the order of arrival: milliseconds since 1970-01-01T00:00:00Z. */
function probe(db: Database): number[] {
  const bounds = db.prepare<[], { first: number | null; last: number | null }>(
    'SELECT (SELECT min(seq) FROM event) AS first, (SELECT max(seq) FROM event) AS last',
  );
  const { first, last } = bounds.get()!;
  if (first === null || last === null) return [];
  const at = db
    .prepare<[number], number>('SELECT received_ms FROM event WHERE seq >= ? ORDER BY seq LIMIT 1')
    .pluck();
  const seqs = Array.from({ length: PROBES }, (_, i) =>
    Math.floor(first + ((last - first) * i) / (PROBES - 1)),
  );
  return seqs.flatMap((seq) => at.get(seq) ?? []);
}

/** @returns when the oldest of a few dozen events was received, as far as the clock of the box can have been right. */
export function oldestReceipt(db: Database): number {
  return Math.min(...probe(db).filter((ms) => ms >= EARLIEST_RECEIVED_MS));
}

/** @returns an estimate; undefined if no day's age makes room. */
export function suggestPrune(db: Database, nowMs: number): PruneSuggestion | undefined {
  const received = probe(db);
  const pragma = (name: string) => db.pragma(name, { simple: true }) as number;
  const used = (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
  for (const days of AGES_D) {
    const part = received.filter((ms) => ms < nowMs - days * DAY_MS).length / received.length;
    if (part >= PART) return { olderThan: `${days}d`, bytes: Math.round(used * part) };
  }
  return undefined;
}
