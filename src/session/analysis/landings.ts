import { type Cell, Grid } from './grid.ts';
import { isInside, type MapFrame } from './mapFrame.ts';

/** How a landing was judged: `is_in`, where it was sent. */
export const VERDICTS = ['in', 'out', 'not judged'] as const;
export type LineCall = (typeof VERDICTS)[number];

/** @returns one for each verdict. */
export function byVerdict<Tally>(make: () => Tally): Record<LineCall, Tally> {
  return { in: make(), out: make(), 'not judged': make() };
}

export interface Landing {
  readonly x: number;
  readonly y: number;
  readonly verdict: LineCall;
  readonly shotType: string | undefined;
}

/** Up to this many landings a map draws each of them; above that, a mark represents a square. */
export const POINTS_DRAWN = 400;
/** At most this many landings are listed outside of the maps; the rest are only counted. */
const LISTED_MAX = 100;

/** The landings of a player, or of one of his shot types. */
export class LandingMap {
  readonly counts = byVerdict(() => 0);
  /** Undefined once there are too many to draw each. */
  points: Landing[] | undefined = [];
  #grids: Record<LineCall, Grid> | undefined;

  get total(): number {
    return VERDICTS.reduce((sum, verdict) => sum + this.counts[verdict], 0);
  }

  /** Puts a landing on the map; `counts` also has those whose place is not known. */
  place(landing: Landing): void {
    if (this.points === undefined) return this.#count(landing);
    if (this.points.push(landing) <= POINTS_DRAWN) return;
    for (const point of this.points) this.#count(point);
    this.points = undefined;
  }

  /** @returns the squares in the frame that have landings of a verdict; none while there are `points`. */
  cells(verdict: LineCall, size: number, frame: MapFrame): Cell[] {
    return this.#grids?.[verdict].cells(size, frame) ?? [];
  }

  #count({ x, y, verdict }: Landing): void {
    this.#grids ??= byVerdict(() => new Grid());
    this.#grids[verdict].add(x, y);
  }
}

/** A landing of which a list says what a map does not. */
interface ListedLanding {
  readonly x: number | undefined;
  readonly y: number | undefined;
  readonly verdict: LineCall;
  readonly playerId: string | undefined;
  readonly shotType: string | undefined;
  readonly eventId: string;
  readonly eotMs: number;
}

/** Some landings: the first few, and how many there are. */
export class LandingList {
  readonly listed: ListedLanding[] = [];
  total = 0;

  add(landing: ListedLanding): void {
    this.total++;
    if (this.listed.length < LISTED_MAX) this.listed.push(landing);
  }
}

/** A landing that a map cannot show where it was. */
export type OutsideLanding = ListedLanding & Landing;

/** The landings outside a frame. */
export class OutsideLandings extends LandingList {
  readonly frame: MapFrame;

  constructor(frame: MapFrame) {
    super();
    this.frame = frame;
  }

  addUnlessInside(landing: OutsideLanding): void {
    if (!isInside(this.frame, landing.x, landing.y)) this.add(landing);
  }
}
