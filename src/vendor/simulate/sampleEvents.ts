import type { SportName } from './sports.ts';
import { eventText, Venue } from './venue.ts';

/** When a printed match begins: a constant, so that a seed always prints the same text. */
const PRINTED_AT_MS = Date.UTC(2026, 2, 14, 15, 0, 0);
/** One position in this many is printed, so that a hundred events include every type. */
const PRINTED_POSITIONS = 5;

/** @returns that many events of cameras that behave, one a line. The same for the same seed. */
export function sampleEvents(
  { courts, sport, seed }: { readonly courts: number; readonly sport: SportName; readonly seed: number },
  count: number,
): string {
  const venue = new Venue({ courts, sport, seed, clean: true, run: 'sample' });
  const lines: string[] = [];
  let positions = 0;
  for (let matchS = 0; lines.length < count; matchS += 1) {
    for (const sending of venue.until(matchS)) {
      const { type, atS } = sending.detection;
      if (type === 'PLAYER_POSITION' && positions++ % PRINTED_POSITIONS > 0) continue;
      lines.push(`${eventText(sending, PRINTED_AT_MS + atS * 1000, 0)}\n`);
    }
  }
  return lines.slice(0, count).join('');
}
