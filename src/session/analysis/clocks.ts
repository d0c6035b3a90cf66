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
  const offsets = new Map<string, number>();
  for (const [source, of] of known) {
    const offsetMs = -of.earliest.leastMs;
    if (right.length === 0 || Math.abs(offsetMs) <= SAME_MS) continue;
    // Nothing is received before it happens.
    const isAhead = offsetMs > 0;
    const isWithin = of.firstMs < firstMs + offsetMs / 2 && of.lastMs < lastMs + offsetMs / 2;
    if (isAhead || isWithin) offsets.set(source, offsetMs);
  }
  return offsets;
}

function isKnown(of: SourceTally): boolean {
  const tookMs = of.lastMs - of.firstMs;
  return (
    tookMs >= KNOWN.leastMs &&
    of.lastReceivedMs - of.firstReceivedMs >= KNOWN.receivedShare * tookMs &&
    of.earliest.count >= KNOWN.earlyShare * of.events
  );
}
