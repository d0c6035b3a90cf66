import { count, type Html, html, number, shortName } from '../../base/html.ts';
import { type Grid, SQUARE_FT } from '../analysis/grid.ts';
import { type Landing, type LandingMap, type LineCall, VERDICTS } from '../analysis/landings.ts';
import { isInside, linesOf, type MapFrame, netOf } from '../analysis/mapFrame.ts';
import { Drawing, figure, linear, mark, type SvgAttributes } from './svg.ts';

/** In pixels: of the small maps of a shot type and the larger ones of a player; the page scales them. */
const WIDTH = { stroke: 200, player: 300 } as const;
/** Radius of a mark for one landing, in pixels: where they are few, and where they are many. */
const RADIUS = { ofFew: 5, ofMany: 3.5 } as const;
const MANY = 60;
/** Sizes of the squares of dense maps, in feet, and how many squares a page has at most. */
const SQUARES_FT = [SQUARE_FT, 2 * SQUARE_FT, 4 * SQUARE_FT] as const;
const SQUARES_MAX = 15_000;

/** In is a filled disc, out a cross, and a ring is one that no camera has judged: they can be told from each other without colour, too. */
const LOOKS: Readonly<Record<LineCall, SvgAttributes>> = {
  in: { fill: 'var(--in)', stroke: 'var(--surface)', 'stroke-width': 0.6 },
  out: { fill: 'none', stroke: 'var(--out)', 'stroke-width': 1.8 },
  'not judged': { fill: 'none', stroke: 'var(--ink)', 'stroke-width': 1.2 },
};

/** @returns the size of a map, and what draws on it: a foot is as long across as along, and half a court has its net on top. */
function mapOf({ x1, y1, x2, y2, yFrom }: MapFrame, width: number) {
  const height = Math.round((width * (y2 - y1)) / (x2 - x1));
  const y = linear(yFrom === 'net' ? [y2, y1] : [y1, y2], [height, 0]);
  return { width, height, on: new Drawing(linear([x1, x2], [0, width]), y) };
}

function ground(on: Drawing, frame: MapFrame): Html {
  const { court, isHalf } = frame;
  const area = court && { x1: 0, y1: 0, x2: court.width, y2: isHalf ? court.length / 2 : court.length };
  return on.rect(area ?? frame, { fill: 'var(--surface)' });
}

function lines(on: Drawing, frame: MapFrame): Html[] {
  const { court } = frame;
  if (court === undefined) return [];
  const y = netOf(frame);
  const all = linesOf(frame).map((line) => on.line(line));
  const net = on.line({ x1: -1, y1: y, x2: court.width + 1, y2: y });
  return [
    mark('g', { stroke: 'var(--line)', 'stroke-width': 1.2 }, all),
    mark('g', { stroke: 'var(--ink)', 'stroke-width': 2 }, net),
  ];
}

/** @param r in pixels. */
function symbol(on: Drawing, { x, y, verdict }: Pick<Landing, 'x' | 'y' | 'verdict'>, r: number): Html {
  const [cx, cy] = [on.x(x), on.y(y)];
  if (verdict !== 'out') return mark('circle', { cx, cy, r });
  const [left, top, right, bottom] = [cx - r, cy - r, cx + r, cy + r].map((px) => px.toFixed(2));
  return mark('path', { d: `M${left},${top}L${right},${bottom}M${left},${bottom}L${right},${top}` });
}

/**
 * @returns the side of the squares, in feet, that represent the landings where a map has too many to draw each, so that all
 * maps together have few enough marks for a page of less than 3 MB.
 */
export function squareSize(maps: readonly LandingMap[], frame: MapFrame): number {
  const dense = maps.filter(({ points }) => points === undefined);
  const marks = (size: number) =>
    dense.flatMap((map) => VERDICTS.flatMap((verdict) => map.cells(verdict, size, frame))).length;
  return SQUARES_FT.find((size) => marks(size) <= SQUARES_MAX) ?? SQUARES_FT.at(-1)!;
}

interface LandingFigure {
  readonly title: string;
  /** Whose landings they are, for screen readers. */
  readonly of: string;
  readonly map: LandingMap;
  readonly frame: MapFrame;
  /** See `squareSize`. */
  readonly size: number;
  readonly width: keyof typeof WIDTH;
}

/** @returns the landings on the court. */
export function landingFigure({ title, of, map, frame, size, width }: LandingFigure): Html {
  const { counts, points } = map;
  const judged = VERDICTS.filter((verdict) => verdict !== 'not judged' || counts[verdict] > 0);
  const numbers = judged.map((verdict) => `${number(counts[verdict])} ${verdict}`).join(', ');
  const { on, ...shape } = mapOf(frame, WIDTH[width]);
  return figure({
    ...shape,
    name: `Where ${of} landed: ${numbers}`,
    marks:
      points === undefined
        ? [ground(on, frame), ...squares(on, map, frame, size), ...lines(on, frame)]
        : [ground(on, frame), ...lines(on, frame), ...each(on, points, frame)],
    caption: html`<b>${title}</b> ${numbers}`,
  });
}

/** A mark for each landing in the frame: the others are listed below the maps. */
function each(on: Drawing, points: readonly Landing[], frame: MapFrame): Html[] {
  const r = points.length > MANY ? RADIUS.ofMany : RADIUS.ofFew;
  const shown = points.filter(({ x, y }) => isInside(frame, x, y));
  return VERDICTS.map((verdict) => {
    const own = shown.filter((point) => point.verdict === verdict);
    return mark(
      'g',
      LOOKS[verdict],
      own.map((point) => symbol(on, point, r)),
    );
  });
}

/** A mark for each square, with an area that grows with the number of landings in it, and that does not leave the square. */
function squares(on: Drawing, map: LandingMap, frame: MapFrame, size: number): Html[] {
  const cells = VERDICTS.map((verdict) => ({ verdict, cells: map.cells(verdict, size, frame) }));
  const most = Math.max(...cells.flatMap(({ cells }) => cells.map(({ count }) => count)), 1);
  const largest = 0.47 * Math.abs(on.x(size) - on.x(0));
  return cells.map(({ verdict, cells }) => {
    const marks = cells.map(({ x, y, count }) =>
      symbol(on, { x: x + size / 2, y: y + size / 2, verdict }, largest * Math.sqrt(count / most)),
    );
    return mark('g', { ...LOOKS[verdict], 'stroke-width': 1 }, marks);
  });
}

/** @returns a heat map of one player: the stronger the colour of a square, the more often the player was there. */
export function positionFigure(player: string, grid: Grid, frame: MapFrame): Html {
  const { total } = grid;
  const cells = grid.cells(SQUARE_FT, frame);
  const most = Math.max(...cells.map(({ count }) => count), 1);
  const outside = total - cells.reduce((sum, { count }) => sum + count, 0);
  const note = outside === 0 ? '' : `; ${number(outside)} outside the map`;
  const { on, ...size } = mapOf(frame, WIDTH.player);
  const heat = cells.map(({ x, y, size, count }) => {
    const look = { 'fill-opacity': 0.08 + 0.92 * (count / most) };
    return on.rect({ x1: x, y1: y, x2: x + size, y2: y + size }, look, [0.3, 0.3]);
  });
  return figure({
    ...size,
    name: `Where ${player} stood: ${count(total, 'position')}${note}`,
    marks: [ground(on, frame), mark('g', { fill: 'var(--heat)' }, heat), ...lines(on, frame)],
    caption: html`<b>Where ${player} stood</b> ${count(total, 'position')}, at most ${number(most)} in a square${note}`,
  });
}

/** @returns a shot type as people write it: "net shot" for net_shot. */
export function shotName(shotType: string): string {
  return shortName(shotType.replaceAll('_', ' '));
}

/** @returns a coordinate as it was sent, to a hundredth of a foot; a camera may send any number. */
export function coordinate(ft: number | undefined): string {
  if (ft === undefined) return '–';
  return Math.abs(ft) < 1e6 ? String(Math.round(ft * 100) / 100) : ft.toExponential(2);
}
