import { count, type Html, number } from '../../base/html.ts';
import {
  type CourtFrame,
  type Grid,
  isInside,
  type Landing,
  type LandingMap,
  type LineCall,
  linesOf,
  POINTS_DRAWN,
  SQUARE_FT,
  VERDICTS,
} from '../analysis/places.ts';
import { drawing, figure, linear, mark, type SvgAttributes } from './svg.ts';

/** In pixels: of the small maps of a shot type and the larger ones of a player; the page scales them. */
const WIDTH = { stroke: 200, player: 300 } as const;
/** Radius of a mark for one landing, in pixels: of few, and of many. */
const RADIUS = { ofFew: 5, ofMany: 3.5 } as const;
const MANY = 60;

/** In is a filled disc, out a cross, and a ring is one that no camera has judged: they differ without colour, too. */
const LOOKS: Readonly<Record<LineCall, SvgAttributes>> = {
  in: { fill: 'var(--in)', stroke: 'var(--surface)', 'stroke-width': 0.6 },
  out: { fill: 'none', stroke: 'var(--out)', 'stroke-width': 1.8 },
  'not judged': { fill: 'none', stroke: 'var(--ink)', 'stroke-width': 1.2 },
};

/** @returns the size of a map, what draws on it, and the court: a foot is as long across as along. */
function mapOf(frame: CourtFrame, width: number) {
  const { court, x1, y1, x2, y2 } = frame;
  const height = Math.round((width * (y2 - y1)) / (x2 - x1));
  const on = drawing(linear([x1, x2], [0, width]), linear([y1, y2], [height, 0]));
  const area = court === undefined ? frame : { x1: 0, y1: 0, x2: court.width, y2: court.length };
  const ground = on.rect(area, { fill: 'var(--surface)' });
  if (court === undefined) return { size: { width, height }, on, ground, lines: [] };
  const net = court.length / 2;
  const drawn = linesOf(court).map((line) => on.line(line));
  const lines = [
    mark('g', { stroke: 'var(--line)', 'stroke-width': 1.2 }, drawn),
    on.line({ x1: -1, y1: net, x2: court.width + 1, y2: net }, { stroke: 'var(--ink)', 'stroke-width': 2 }),
  ];
  return { size: { width, height }, on, ground, lines };
}

/** @param of whose landings they are, for screen readers. @returns the landings on the court. */
export function landingFigure(
  title: string,
  of: string,
  map: LandingMap,
  frame: CourtFrame,
  width: keyof typeof WIDTH,
): Html {
  const { counts, points, placed } = map;
  const judged = VERDICTS.filter((verdict) => verdict !== 'not judged' || counts[verdict] > 0);
  const shown = points.filter(({ x, y }) => isInside(frame, x, y));
  const numbers = [
    ...judged.map((verdict) => `${number(counts[verdict])} ${verdict}`),
    ...(shown.length < points.length ? [`${number(points.length - shown.length)} beyond the map`] : []),
    ...(placed > POINTS_DRAWN ? [`the first ${number(POINTS_DRAWN)} drawn`] : []),
  ].join(', ');
  const { size, on, ground, lines } = mapOf(frame, WIDTH[width]);
  const radius = points.length > MANY ? RADIUS.ofMany : RADIUS.ofFew;
  const marks = VERDICTS.map((verdict) => {
    const own = shown.filter((point) => point.verdict === verdict);
    const symbols = own.map((point) => symbol(on, point, radius));
    return mark('g', LOOKS[verdict], symbols);
  });
  return figure({
    ...size,
    title,
    about: `Where ${of} landed`,
    told: numbers,
    marks: [ground, ...lines, ...marks],
  });
}

/** @param r in pixels. */
function symbol(on: ReturnType<typeof drawing>, { x, y, verdict }: Landing, r: number): Html {
  const [cx, cy] = [on.x(x), on.y(y)];
  if (verdict !== 'out') return mark('circle', { cx, cy, r });
  const [left, top, right, bottom] = [cx - r, cy - r, cx + r, cy + r].map((px) => px.toFixed(1));
  return mark('path', { d: `M${left},${top}L${right},${bottom}M${left},${bottom}L${right},${top}` });
}

/** @returns a heat map of one player: the stronger the colour of a square, the more often the player was there. */
export function positionFigure(player: string, grid: Grid, frame: CourtFrame): Html {
  const { total } = grid;
  const cells = grid.cells(frame);
  const most = Math.max(...cells.map(({ count }) => count), 1);
  const outside = total - cells.reduce((sum, { count }) => sum + count, 0);
  const told = `${count(total, 'position')}${outside === 0 ? '' : `, ${number(outside)} beyond the map`}`;
  const { size, on, ground, lines } = mapOf(frame, WIDTH.player);
  const heat = cells.map(({ x, y, count }) => {
    const look = { 'fill-opacity': 0.08 + 0.92 * (count / most) };
    return on.rect({ x1: x, y1: y, x2: x + SQUARE_FT, y2: y + SQUARE_FT }, look, [0.3, 0.3]);
  });
  return figure({
    ...size,
    title: `Where ${player} stood`,
    told,
    marks: [ground, mark('g', { fill: 'var(--heat)' }, heat), ...lines],
  });
}
