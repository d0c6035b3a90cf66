import { dot, link, type Markish, rect } from '@observablehq/plot';
import { count, type Html, html, number, shortName } from '../../base/html.ts';
import { type Frame, isInside, linesOf, netOf } from '../analysis/court.ts';
import type { Grid } from '../analysis/grid.ts';
import { type LandingMap, VERDICTS, type Verdict } from '../analysis/landings.ts';
import { figure } from './figures.ts';

/** Pixels of a foot, for the small maps of landings and the larger ones of players; the page scales them. */
const WIDTH = { landings: 200, players: 300 } as const;
/** Side of a square of a heat map, in feet. */
const HEAT_FT = 2;
/** Radius of a mark for one landing, in pixels: where they are few, and where they are many. */
const RADIUS = { ofFew: 5, ofMany: 3.5 } as const;
const MANY = 60;
/** Sizes of the squares of dense maps, in feet, and how many squares a page has at most. */
const SQUARES_FT = [1, 2, 4] as const;
const SQUARES_MAX = 15_000;

/** In is a filled disc, out a cross, and a ring is one that no camera has judged: they can be told from each other without colour, too. */
const SYMBOLS: Readonly<Record<Verdict, object>> = {
  in: { symbol: 'circle', fill: 'var(--in)', stroke: 'var(--surface)', strokeWidth: 0.6 },
  out: { symbol: 'times', stroke: 'var(--out)', strokeWidth: 1.8 },
  'not judged': { symbol: 'circle', fill: 'none', stroke: 'var(--ink)', strokeWidth: 1.2 },
};

/** @returns size and scales of a map: a foot is as long across as along, and half a court has its net on top. */
function mapOptions({ x1, y1, x2, y2, yFrom }: Frame, width: number) {
  const domain = yFrom === 'net' ? [y2, y1] : [y1, y2];
  return {
    width,
    height: Math.round((width * (y2 - y1)) / (x2 - x1)),
    margin: 0,
    x: { domain: [x1, x2], axis: null },
    y: { domain, axis: null },
  };
}

function ground(frame: Frame): Markish[] {
  const { court, isHalf } = frame;
  const area = court && { x1: 0, y1: 0, x2: court.width, y2: isHalf ? court.length / 2 : court.length };
  return [rect([area ?? frame], { x1: 'x1', y1: 'y1', x2: 'x2', y2: 'y2', fill: 'var(--surface)' })];
}

function lines(frame: Frame): Markish[] {
  if (frame.court === undefined) return [];
  const ends = { x1: 'x1', y1: 'y1', x2: 'x2', y2: 'y2' } as const;
  const net = netOf(frame);
  return [
    link(linesOf(frame), { ...ends, stroke: 'var(--line)', strokeWidth: 1.2 }),
    link([{ x1: -1, y1: net, x2: frame.court.width + 1, y2: net }], {
      ...ends,
      stroke: 'var(--ink)',
      strokeWidth: 2,
    }),
  ];
}

/**
 * @returns the side of the squares, in feet, that represent the landings where a map has too many to draw each, so that all
 * maps together have few enough marks for a page of less than 3 MB.
 */
export function squareSize(maps: readonly LandingMap[], frame: Frame): number {
  const dense = maps.filter(({ points }) => points === undefined);
  const marks = (size: number) =>
    dense.reduce(
      (sum, { grids }) =>
        sum + VERDICTS.reduce((own, verdict) => own + grids[verdict].cells(size, frame).length, 0),
      0,
    );
  return SQUARES_FT.find((size) => marks(size) <= SQUARES_MAX) ?? SQUARES_FT.at(-1)!;
}

/** @param size see `squareSize`. @returns the landings of one shot type on the court. */
export function landingFigure(shotType: string, map: LandingMap, frame: Frame, size: number): Html {
  const { counts } = map;
  const title = shotName(shotType);
  const judged = VERDICTS.filter((verdict) => verdict !== 'not judged' || counts[verdict] > 0);
  const numbers = judged.map((verdict) => `${number(counts[verdict])} ${verdict}`).join(', ');
  const dense = map.points === undefined ? squares(map, frame, size) : undefined;
  return figure({
    ...mapOptions(frame, WIDTH.landings),
    ...(dense === undefined ? {} : { r: dense.r }),
    name: `Where ${title} landed: ${numbers}`,
    marks:
      dense === undefined
        ? [...ground(frame), ...lines(frame), ...points(map, frame)]
        : [...ground(frame), ...dense.marks, ...lines(frame)],
    caption: html`<b>${title}</b> ${numbers}`,
  });
}

/** A mark for each landing in the frame: the others are listed below the maps. */
function points(map: LandingMap, frame: Frame): Markish[] {
  const r = map.points!.length > MANY ? RADIUS.ofMany : RADIUS.ofFew;
  return VERDICTS.map((verdict) =>
    dot(
      map.points!.filter((point) => point.verdict === verdict && isInside(frame, point.x, point.y)),
      { x: 'x', y: 'y', r, ...SYMBOLS[verdict] },
    ),
  );
}

/** A mark for each square, with an area that grows with the number of landings in it, and that does not leave the square. */
function squares(map: LandingMap, frame: Frame, size: number) {
  const cells = VERDICTS.map((verdict) => ({ verdict, cells: map.grids[verdict].cells(size, frame) }));
  const most = Math.max(...cells.flatMap(({ cells }) => cells.map(({ count }) => count)), 1);
  const largest = (0.47 * size * WIDTH.landings) / (frame.x2 - frame.x1);
  return {
    r: { domain: [0, most], range: [0, largest] },
    marks: cells.map(({ verdict, cells }) =>
      dot(cells, {
        x: ({ x }) => x + size / 2,
        y: ({ y }) => y + size / 2,
        r: 'count',
        ...SYMBOLS[verdict],
        strokeWidth: 1,
      }),
    ),
  };
}

/** @returns a heat map of one player: the stronger the colour of a square, the more often the player was there. */
export function playerFigure(player: string, grid: Grid, frame: Frame): Html {
  const { total } = grid;
  const cells = grid.cells(HEAT_FT, frame);
  const most = Math.max(...cells.map(({ count }) => count), 1);
  const outside = total - cells.reduce((sum, { count }) => sum + count, 0);
  const busiest = cells.find(({ count }) => count === most);
  const note = outside === 0 ? '' : `; ${number(outside)} outside the map`;
  const peak =
    busiest === undefined
      ? ''
      : `, most often between ${busiest.x} and ${busiest.x + HEAT_FT} ft across and ${busiest.y} and ${busiest.y + HEAT_FT} ft along`;
  return figure({
    ...mapOptions(frame, WIDTH.players),
    name: `Where ${shortName(player)} stood: ${count(total, 'position')}${peak}${note}`,
    marks: [
      ...ground(frame),
      rect(cells, {
        x1: 'x',
        y1: 'y',
        x2: ({ x, size }) => x + size,
        y2: ({ y, size }) => y + size,
        fill: 'var(--heat)',
        fillOpacity: ({ count }) => Math.round((0.08 + 0.92 * (count / most)) * 100) / 100,
        inset: 0.3,
      }),
      ...lines(frame),
    ],
    caption: html`<b>${shortName(player)}</b> ${count(total, 'position')}, at most ${number(most)} in a square${note}`,
  });
}

/** @returns a shot type as people write it: "net shot" for net_shot. */
export function shotName(shotType: string): string {
  return shortName(shotType.replaceAll('_', ' '));
}
