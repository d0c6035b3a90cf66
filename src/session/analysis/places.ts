import { COURTS, type CourtLines, type CourtName, type Line } from '../../protocol/courtLines.ts';
import type { Payload } from './shotPayload.ts';

/** What a map shows, in feet, the edges included. */
export interface CourtFrame extends Line {
  /** Undefined if no lines are drawn. */
  readonly court?: CourtLines;
}

/** Without court lines a frame is rounded to this, and at least this long, in feet. */
const [ROUND_FT, LEAST_FT] = [5, 20];

/** @param seen what holds every place, for a map without lines. @returns the court and a quarter of its width around it. */
export function frameOf(lines: CourtName, seen: Line): CourtFrame {
  const court = COURTS[lines];
  if (court !== undefined) {
    const margin = Math.round(court.width / 4);
    return { court, x1: -margin, y1: -margin, x2: court.width + margin, y2: court.length + margin };
  }
  if (seen.x1 > seen.x2) return { x1: 0, y1: 0, x2: LEAST_FT, y2: LEAST_FT };
  const down = (value: number) => Math.floor((value - 1) / ROUND_FT) * ROUND_FT;
  const up = (value: number, from: number) =>
    Math.max(Math.ceil((value + 1) / ROUND_FT) * ROUND_FT, from + LEAST_FT);
  const [x1, y1] = [down(seen.x1), down(seen.y1)];
  return { x1, y1, x2: up(seen.x2, x1), y2: up(seen.y2, y1) };
}

export function isInside({ x1, y1, x2, y2 }: Line, x: number, y: number): boolean {
  return x >= x1 && x <= x2 && y >= y1 && y <= y2;
}

/** @returns the lines of a court, the outline among them, without the net. */
export function linesOf({ width, length, lines }: CourtLines): Line[] {
  return [
    ...[0, length].map((y) => ({ x1: 0, y1: y, x2: width, y2: y })),
    ...[0, width].map((x) => ({ x1: x, y1: 0, x2: x, y2: length })),
    ...lines,
  ];
}

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

/** What a grid holds, in feet both ways: more than any court with its run-off. */
export const GRID_FT = { least: -40, most: 120 } as const;
/** Side of a square, in feet. */
export const SQUARE_FT = 2;
const SIDE = (GRID_FT.most - GRID_FT.least) / SQUARE_FT;

/** Counts positions by squares of two feet: 25 KB, whatever a camera sends. */
export class Grid {
  readonly #counts = new Uint32Array(SIDE ** 2);
  /** Of positions, including those that are in no square. */
  total = 0;

  add(x: number, y: number): void {
    this.total++;
    const [column = 0, row = 0] = [x, y].map((ft) => Math.floor((ft - GRID_FT.least) / SQUARE_FT));
    if (column >= 0 && row >= 0 && column < SIDE && row < SIDE) this.#counts[row * SIDE + column]!++;
  }

  /** @returns the squares that have a position and are in the frame, by their lower left corners in feet. */
  cells(frame: CourtFrame): { x: number; y: number; count: number }[] {
    return [...this.#counts].flatMap((count, square) => {
      const x = (square % SIDE) * SQUARE_FT + GRID_FT.least;
      const y = Math.floor(square / SIDE) * SQUARE_FT + GRID_FT.least;
      return count > 0 && isInside(frame, x + SQUARE_FT / 2, y + SQUARE_FT / 2) ? [{ x, y, count }] : [];
    });
  }
}
