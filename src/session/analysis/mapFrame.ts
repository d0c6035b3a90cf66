import { across, along, type CourtLines, type Line } from '../../protocol/courtLines.ts';

/** What a map shows, in feet, the edges included. */
export interface MapFrame extends Line {
  /** Undefined where no lines are drawn. */
  readonly court?: CourtLines;
  /** Half a court: both halves on top of each other, or the only one that a camera sees. */
  readonly isHalf: boolean;
  readonly yFrom: YFrom;
}

/** Where y begins: at the near base line, or at the net, whichever side of it. */
export type YFrom = 'base' | 'net';

/** The run-off that a map shows around the court. */
const margin = ({ width }: CourtLines) => Math.round(width / 4);
/** The same beyond the net, where half a court is drawn. */
const BEYOND_NET = 2;

/** @returns the frame of a whole court. */
export function wholeFrame(court: CourtLines): MapFrame {
  const m = margin(court);
  return { court, isHalf: false, yFrom: 'base', x1: -m, y1: -m, x2: court.width + m, y2: court.length + m };
}

/** @returns the frame of half a court. */
export function halfFrame(court: CourtLines, yFrom: YFrom): MapFrame {
  const m = margin(court);
  const [below, above] = yFrom === 'net' ? [BEYOND_NET, m] : [m, BEYOND_NET];
  return {
    court,
    isHalf: true,
    yFrom,
    x1: -m,
    y1: -below,
    x2: court.width + m,
    y2: court.length / 2 + above,
  };
}

export function isInside({ x1, y1, x2, y2 }: MapFrame, x: number, y: number): boolean {
  return x >= x1 && x <= x2 && y >= y1 && y <= y2;
}

/** @returns where the net is, as y in the frame. */
export function netOf(frame: MapFrame): number {
  return frame.yFrom === 'net' ? 0 : (frame.court?.length ?? 0) / 2;
}

/** @returns the lines of the court in the frame, the outline among them; none without a court. */
export function linesOf({ court, isHalf, yFrom }: MapFrame): Line[] {
  if (court === undefined) return [];
  const { width, length } = court;
  const all = [
    across(0, 0, width),
    across(length, 0, width),
    along(0, 0, length),
    along(width, 0, length),
    ...court.lines,
  ];
  if (!isHalf) return all;
  const net = length / 2;
  const near = all.filter(({ y1 }) => y1 < net).map((line) => ({ ...line, y2: Math.min(line.y2, net) }));
  if (yFrom === 'base') return near;
  // Every court is its own mirror image.
  return near.map(({ x1, y1, x2, y2 }) => ({ x1, x2, y1: net - y2, y2: net - y1 }));
}
