import { OTHER_SOURCES, SAME_MS, type SourceTally } from './sources.ts';

/**
 * A source's clock is known where this share of its events were received about as long after their eot as the earliest of them,
 * and where they came while they happened: over at least half the time, which is half a minute or more.
 */
const KNOWN = { earlyShare: 0.1, receivedShare: 0.5, leastMs: 30_000 } as const;

/**
 * The sources of a session whose clocks are wrong beyond doubt. An offset is taken as the daemon takes it: detection and network
 * only add to the time from an eot to its receipt, so the least of it is that of the clock. A stored session allows less than a
 * live one: its events may have been imported, or sent from a backlog, hours after they happened. So a correction takes another
 * source whose clock is right; and of a source that is behind, that it begins and ends before that one does, by half of the offset
 * at least: where it does not, it is late with what it sends, and its times are right.
 * @returns by source, its clock minus the box's in milliseconds; empty where nothing is to be corrected.
 */
export function wrongClocks(
  sources: readonly (readonly [source: string, of: SourceTally])[],
): Map<string, number> {
  const known = sources.filter(([source, of]) => source !== OTHER_SOURCES && isKnown(of));
  const right = known.filter(([, { earliest }]) => Math.abs(earliest.leastMs) <= SAME_MS).map(([, of]) => of);
  const [firstMs, lastMs] = [
    Math.min(...right.map((of) => of.firstMs)),
    Math.max(...right.map((of) => of.lastMs)),
  ];
  return new Map(
    known
      .map(([source, of]) => [source, of, -of.earliest.leastMs] as const)
      .filter(([, of, offsetMs]) => {
        if (right.length === 0 || Math.abs(offsetMs) <= SAME_MS) return false;
        // Nothing is received before it happens.
        if (offsetMs > 0) return true;
        return of.firstMs < firstMs + offsetMs / 2 && of.lastMs < lastMs + offsetMs / 2;
      })
      .map(([source, , offsetMs]) => [source, offsetMs]),
  );
}

function isKnown({
  events,
  earliest,
  firstMs,
  lastMs,
  firstReceivedMs,
  lastReceivedMs,
}: SourceTally): boolean {
  const tookMs = lastMs - firstMs;
  return (
    tookMs >= KNOWN.leastMs &&
    lastReceivedMs - firstReceivedMs >= KNOWN.receivedShare * tookMs &&
    earliest.count >= KNOWN.earlyShare * events
  );
}
