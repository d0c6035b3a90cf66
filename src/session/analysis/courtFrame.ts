import { COURTS, type CourtLines, type CourtName, type Line } from '../../protocol/courtLines.ts';

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
