import type { Payload } from './payload.ts';

/** How a landing was judged: `is_in`, if it was sent. */
export const VERDICTS = ['in', 'out', 'not judged'] as const;
export type LineCall = (typeof VERDICTS)[number];

export function verdictOf({ isIn }: Payload): LineCall {
  return isIn === undefined ? 'not judged' : isIn ? 'in' : 'out';
}

export interface Landing {
  readonly x: number;
  readonly y: number;
  readonly verdict: LineCall;
}

/** A map draws this many landings, the first ones; all are counted. So a page has a few MB at most. */
export const POINTS_DRAWN = 1_000;

/** The landings of a player, or of one of their shot types. */
export class LandingMap {
  readonly counts: Record<LineCall, number> = { in: 0, out: 0, 'not judged': 0 };
  readonly points: Landing[] = [];
  /** How many have a place. */
  placed = 0;

  get total(): number {
    return VERDICTS.reduce((sum, verdict) => sum + this.counts[verdict], 0);
  }

  /** Puts a landing on the map; `counts` also has those whose place is not known. */
  place(landing: Landing): void {
    if (this.placed++ < POINTS_DRAWN) this.points.push(landing);
  }
}
