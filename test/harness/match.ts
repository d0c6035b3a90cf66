import { Venue } from '../../src/vendor/simulate/venue.ts';

/** When a match begins: a constant, so that a seed always makes the same text. */
const BEGIN_MS = Date.UTC(2026, 2, 14, 15, 0, 0);
/** One position in this many is written, so that a hundred events include every type. */
const WRITTEN_POSITIONS = 5;

/** @returns that many events of a simulated match on one court, as NDJSON. The same for the same seed. */
export function matchLines(count: number, seed = 1): string {
  const venue = new Venue({ courts: 1, seed, clean: true, run: 'sample' });
  const lines: string[] = [];
  let positions = 0;
  for (let matchS = 0; lines.length < count; matchS += 1) {
    for (const { detection, text } of venue.until(matchS, BEGIN_MS)) {
      if (detection.type === 'PLAYER_POSITION' && positions++ % WRITTEN_POSITIONS > 0) continue;
      lines.push(`${text}\n`);
    }
  }
  return lines.slice(0, count).join('');
}
