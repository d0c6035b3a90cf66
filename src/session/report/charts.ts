import { axisX, axisY, barX, dot, link, rectY, ruleX, ruleY, text } from '@observablehq/plot';
import { count, type Html, html, number, percent } from '../../base/html.ts';
import { type EventType, TYPES } from '../../protocol/eventTypes.ts';
import type { Bins } from '../analysis/bins.ts';
import { type Frame, netOf } from '../analysis/court.ts';
import { type LandingMap, VERDICTS, type Verdict } from '../analysis/landings.ts';
import type { Revised } from '../analysis/sessionTally.ts';
import type { Timeline } from '../analysis/timeline.ts';
import { figure } from './figures.ts';
import { shotName } from './maps.ts';

/** Charts are drawn at the width of a phone, and a wide page puts them side by side: scaled down, their text would be too small. */
const SIZE = { width: 328, height: 190, fontSize: 12 } as const;
const ROW_PX = 24;
/** Room for the labels of rows: on a phone there must be room for bars beside them. */
const LABEL_PX = { ofCharacter: 7, most: 148 } as const;
const LABEL_GAP_PX = 12;
/** Room for the share behind a bar: at least this, and more where a type has thousands of landings. */
const SHARE_PX = { ofCharacter: 6, least: 74 } as const;
export const DEPTH_FT = 2;
/** Widths of a bar of the speed histogram, in km/h. */
const SPEED_WIDTHS = [2, 5, 10, 25] as const;

const BARS: Readonly<Record<Verdict, object>> = {
  in: { fill: 'var(--in)', stroke: 'var(--in)' },
  out: { fill: 'var(--paper)', stroke: 'var(--out)', strokeWidth: 1.5 },
  'not judged': { fill: 'var(--line)', stroke: 'var(--line)' },
};

export interface DepthBar extends Record<Verdict, number> {
  readonly from: number;
}

/** @returns landings by their distance from the net, or by y where no court is drawn; empty bars between full ones included. */
export function depthBars(depths: Readonly<Record<Verdict, Bins>>, frame: Frame): DepthBar[] {
  const bars = new Map<number, DepthBar>();
  const net = netOf(frame);
  for (const verdict of VERDICTS) {
    for (const [y, times] of depths[verdict].entries()) {
      const depth = frame.court === undefined ? y : Math.abs(y - net);
      const from = Math.floor((depth + 1e-6) / DEPTH_FT) * DEPTH_FT;
      const bar = bars.get(from) ?? { from, in: 0, out: 0, 'not judged': 0 };
      bars.set(from, { ...bar, [verdict]: bar[verdict] + times });
    }
  }
  return [...bars.values()].sort((a, b) => a.from - b.from);
}

export function depthFigure(bars: readonly DepthBar[], frame: Frame): Html {
  const { court } = frame;
  const total = bars.reduce((sum, bar) => sum + bar.in + bar.out + bar['not judged'], 0);
  const deepest = bars.reduce((a, b) => (sumOf(b) > sumOf(a) ? b : a));
  const parts = bars.flatMap((bar) => {
    let y = 0;
    return VERDICTS.map((verdict) => {
      const y1 = y;
      y += bar[verdict];
      return { x1: bar.from, x2: bar.from + DEPTH_FT, y1, y2: y, verdict };
    });
  });
  const baseLine = court === undefined ? [] : [court.length / 2];
  return figure({
    ...SIZE,
    marginLeft: countsPx(Math.max(...bars.map(sumOf))),
    marginBottom: 36,
    name: `Landings by ${court === undefined ? 'y' : 'distance from the net'}: ${count(total, 'landing')}, most of them between ${deepest.from} and ${deepest.from + DEPTH_FT} ft`,
    // Always the same for one court, so that two reports can be compared.
    x: {
      label: court === undefined ? 'y, ft' : 'feet from the net',
      ...(court === undefined
        ? {}
        : { domain: [0, Math.max(frame.y2 - netOf(frame), bars.at(-1)!.from + DEPTH_FT)] }),
    },
    y: { label: 'landings', ...wholeTicks(Math.max(...bars.map(sumOf))) },
    marks: [
      axisX({ labelArrow: 'none', labelAnchor: 'center', tickSize: 3 }),
      axisY({ labelArrow: 'none', tickSize: 0, ...wholeTicks(Math.max(...bars.map(sumOf))) }),
      ...VERDICTS.map((verdict) =>
        rectY(
          parts.filter((part) => part.verdict === verdict && part.y2 > part.y1),
          { x1: 'x1', x2: 'x2', y1: 'y1', y2: 'y2', insetLeft: 1, insetRight: 1, ...BARS[verdict] },
        ),
      ),
      ruleY([0], { stroke: 'var(--ink)' }),
      ruleX(baseLine, { stroke: 'var(--ink)', strokeDasharray: '4 3' }),
      text(baseLine, {
        x: (x: number) => x,
        text: () => 'base line',
        frameAnchor: 'top',
        dy: -12,
        fill: 'var(--ink)',
      }),
    ],
  });
}

const sumOf = (bar: DepthBar) => bar.in + bar.out + bar['not judged'];

/** @returns room for the labels of an axis of counts: four digits and more take more. */
function countsPx(most: number): number {
  return Math.max(36, LABEL_GAP_PX + LABEL_PX.ofCharacter * number(most).length);
}

/** Counts have no ticks between whole numbers. */
function wholeTicks(most: number, ticks = 5) {
  return most < 5 ? { ticks: Array.from({ length: most + 1 }, (_, i) => i), tickFormat: 'd' } : { ticks };
}

/** @returns a bar for each shot type: how many of its landings were in. */
export function shareFigure(maps: readonly (readonly [string, LandingMap])[]): Html {
  const rows = maps.map(([shotType, { counts }], row) => ({ row, label: shotName(shotType), counts }));
  const parts = rows.flatMap(({ row, counts }) => {
    const judged = counts.in + counts.out;
    if (judged === 0) return [];
    const share = counts.in / judged;
    return [
      { row, x1: 0, x2: share, verdict: 'in' as const },
      { row, x1: share, x2: 1, verdict: 'out' as const },
    ];
  });
  const label = (row: number) => rows[row]?.label ?? '';
  const room = Math.min(
    LABEL_PX.most,
    LABEL_PX.ofCharacter * Math.max(...rows.map(({ label }) => label.length)),
  );
  return figure({
    ...SIZE,
    height: 34 + rows.length * ROW_PX,
    marginLeft: LABEL_GAP_PX + room,
    marginRight: Math.max(
      SHARE_PX.least,
      LABEL_GAP_PX + SHARE_PX.ofCharacter * Math.max(...rows.map(({ counts }) => ofJudged(counts).length)),
    ),
    marginTop: 6,
    marginBottom: 26,
    name: `Share of landings that were in: ${rows.map(({ label, counts }) => `${label} ${ofJudged(counts)}`).join(', ')}`,
    x: { domain: [0, 1] },
    y: { domain: rows.map(({ row }) => row), padding: 0.25 },
    marks: [
      axisX({
        ticks: [0, 0.5, 1],
        tickFormat: (share: number) => `${100 * share} %`,
        label: null,
        tickSize: 3,
      }),
      axisY({
        tickFormat: (row: number) => label(row),
        label: null,
        tickSize: 0,
        textOverflow: 'ellipsis',
        // In ems; a font may be wider than the one that Plot has measured.
        lineWidth: (0.9 * room) / SIZE.fontSize,
      }),
      ...(['out', 'in'] as const).map((verdict) =>
        barX(
          parts.filter((part) => part.verdict === verdict && part.x2 > part.x1),
          { x1: 'x1', x2: 'x2', y: 'row', ...BARS[verdict] },
        ),
      ),
      text(rows, {
        x: 1,
        y: 'row',
        dx: 8,
        textAnchor: 'start',
        fill: 'var(--ink)',
        text: ({ counts }) => ofJudged(counts),
      }),
    ],
  });
}

function ofJudged(counts: Readonly<Record<Verdict, number>>): string {
  const judged = counts.in + counts.out;
  return judged === 0 ? 'not judged' : `${percent(counts.in, judged)} of ${number(judged)}`;
}

/** @returns the distribution of ball speeds, with the median and the 95th percentile. */
export function speedFigure(speeds: Bins): Html {
  const [median, high] = [speeds.quantile(0.5)!, speeds.quantile(0.95)!];
  const width = SPEED_WIDTHS.find((width) => (speeds.quantile(1) ?? 0) / width <= 40) ?? SPEED_WIDTHS.at(-1)!;
  const bars = new Map<number, number>();
  for (const [kmh, times] of speeds.entries()) {
    const from = Math.floor((kmh + 1e-6) / width) * width;
    bars.set(from, (bars.get(from) ?? 0) + times);
  }
  const most = Math.max(...bars.values());
  // On a line each: the two may be close together, and are the same where all balls are as fast.
  const marks = [
    { kmh: median, name: 'median', dy: -26 },
    { kmh: high, name: '95 %', dy: -12 },
  ];
  return figure({
    ...SIZE,
    marginLeft: countsPx(most),
    marginRight: 32,
    marginTop: 32,
    marginBottom: 36,
    name: `Ball speeds: ${count(speeds.total, 'speed')}, median ${number(median, 1)} km/h, 95th percentile ${number(high, 1)} km/h`,
    x: { zero: true },
    marks: [
      axisX({ label: 'km/h', labelArrow: 'none', labelAnchor: 'center', ticks: 6, tickSize: 3 }),
      axisY({ label: 'balls', labelArrow: 'none', tickSize: 0, ...wholeTicks(most) }),
      rectY([...bars], {
        x1: ([from]) => from,
        x2: ([from]) => from + width,
        y1: 0,
        y2: ([, times]) => times,
        insetLeft: 0.5,
        insetRight: 0.5,
        fill: 'var(--in)',
      }),
      ruleY([0], { stroke: 'var(--ink)' }),
      ruleX(marks, { x: 'kmh', stroke: 'var(--ink)', strokeDasharray: '4 3' }),
      ...marks.map((mark) =>
        text([mark], {
          x: 'kmh',
          text: 'name',
          frameAnchor: 'top-left',
          textAnchor: 'start',
          dx: 3,
          dy: mark.dy,
          fill: 'var(--ink)',
        }),
      ),
    ],
  });
}

/** @returns events of one type over the session. */
export function rateFigure(type: EventType, timeline: Timeline, steps: number): Html {
  const perMinute = timeline.stepMs / 60_000;
  const bars = timeline.steps.flatMap(({ at, counts }) => {
    const events = counts.get(type) ?? 0;
    return events === 0 ? [] : [{ x1: at * perMinute, x2: (at + 1) * perMinute, y: events / perMinute }];
  });
  const most = Math.max(...bars.map(({ y }) => y), 0);
  const total = timeline.steps.reduce((sum, { counts }) => sum + (counts.get(type) ?? 0), 0);
  return figure({
    ...SIZE,
    height: 130,
    marginLeft: 40,
    marginTop: 12,
    marginBottom: 34,
    name: `${TYPES[type].title} a minute: ${count(total, 'event')}, at most ${number(most)} a minute`,
    x: { domain: [0, Math.max(steps * perMinute, 1)] },
    y: { domain: [0, Math.max(most, 1)] },
    marks: [
      axisX({ label: 'minutes', labelArrow: 'none', labelAnchor: 'center', ticks: 5, tickSize: 3 }),
      axisY({ label: null, tickSize: 0, ...wholeTicks(Math.ceil(most), 3) }),
      rectY(bars, { x1: 'x1', x2: 'x2', y1: 0, y2: 'y', fill: 'var(--in)' }),
      ruleY([0], { stroke: 'var(--ink)' }),
    ],
    caption: html`<b>${TYPES[type].title}</b> ${count(total, 'event')}, at most ${number(most)} a minute`,
  });
}

/** @returns for each type its median confidence before a revision (a ring) and after it (a disc). */
export function confidenceFigure(revised: readonly (readonly [EventType, Revised])[]): Html {
  const rows = revised.map(([type, { before, after }]) => ({
    type: TYPES[type].title,
    x1: before.quantile(0.5)!,
    x2: after.quantile(0.5)!,
  }));
  return figure({
    ...SIZE,
    height: 46 + rows.length * ROW_PX,
    marginLeft: 80,
    marginRight: 14,
    marginTop: 6,
    marginBottom: 36,
    name: `Median confidence before and after revision: ${rows.map(({ type, x1, x2 }) => `${type} ${x1.toFixed(2)} and ${x2.toFixed(2)}`).join(', ')}`,
    x: { domain: [0, 1] },
    y: { domain: rows.map(({ type }) => type), padding: 0.5 },
    marks: [
      axisX({ label: 'median confidence', labelArrow: 'none', labelAnchor: 'center', ticks: 5, tickSize: 3 }),
      axisY({ label: null, tickSize: 0 }),
      link(rows, { x1: 'x1', x2: 'x2', y: 'type', stroke: 'var(--line)', strokeWidth: 2 }),
      dot(rows, { x: 'x1', y: 'type', r: 5, fill: 'var(--paper)', stroke: 'var(--ink)', strokeWidth: 1.5 }),
      dot(rows, { x: 'x2', y: 'type', r: 5, fill: 'var(--in)' }),
    ],
  });
}
