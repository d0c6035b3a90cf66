import type { Database } from 'better-sqlite3';

/** Events that are looked at, spread evenly over the order of arrival: less than a page each. */
const PROBES = 64;
/** Ages as `prune --older-than` takes them, the oldest first. */
const AGES: readonly (readonly [age: string, seconds: number])[] = [
  ['365d', 365 * 86_400],
  ['180d', 180 * 86_400],
  ['90d', 90 * 86_400],
  ['30d', 30 * 86_400],
  ['14d', 14 * 86_400],
  ['7d', 7 * 86_400],
  ['3d', 3 * 86_400],
  ['1d', 86_400],
  ['12h', 12 * 3_600],
  ['6h', 6 * 3_600],
  ['1h', 3_600],
];
/** What frees less is no help. */
const PART = 1 / 4;
/** Of a row besides its payload, with its key. */
const ROW_BYTES = 100;

/** The prune that makes room and deletes the least. */
export interface PruneSuggestion {
  /** As `--older-than` takes it. */
  readonly olderThan: string;
  /** About what it frees. */
  readonly bytes: number;
  /** The same with `--type PLAYER_POSITION`. */
  readonly positionBytes: number;
}

interface Probe {
  readonly ms: number;
  readonly bytes: number;
  readonly isPosition: number;
}

/** @returns an estimate from a few dozen events; undefined where none is older than an hour. */
export function suggestPrune(db: Database, nowMs: number): PruneSuggestion | undefined {
  const bounds = db
    .prepare<[], { first: number | null; last: number | null }>(
      'SELECT (SELECT min(seq) FROM event) AS first, (SELECT max(seq) FROM event) AS last',
    )
    .get();
  if (bounds?.first == null || bounds.last == null) return undefined;
  const { first, last } = bounds;
  const look = db.prepare<[number], Probe>(`
    SELECT received_ms AS ms, length(payload) + ${ROW_BYTES} AS bytes,
           origin IN (SELECT id FROM origin WHERE type = 'PLAYER_POSITION') AS isPosition
      FROM event WHERE seq >= ? ORDER BY seq LIMIT 1`);
  const seqs = Array.from({ length: PROBES }, (_, i) =>
    Math.floor(first + ((last - first) * i) / (PROBES - 1)),
  );
  const probes = seqs.flatMap((seq) => look.get(seq) ?? []);
  const sum = (some: readonly Probe[]) => some.reduce((total, { bytes }) => total + bytes, 0);
  const pragma = (name: string) => db.pragma(name, { simple: true }) as number;
  const used = (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
  for (const [olderThan, seconds] of AGES) {
    const old = probes.filter(({ ms }) => ms < nowMs - seconds * 1_000);
    if (sum(old) < PART * sum(probes)) continue;
    const part = (some: readonly Probe[]) => Math.round((used * sum(some)) / sum(probes));
    return {
      olderThan,
      bytes: part(old),
      positionBytes: part(old.filter(({ isPosition }) => isPosition === 1)),
    };
  }
  return undefined;
}
