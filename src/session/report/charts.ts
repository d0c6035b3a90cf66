import type { Bins } from '../../base/bins.ts';
import { count, type Html, html, number } from '../../base/html.ts';
import { type EventType, TYPES } from '../../protocol/eventTypes.ts';
import { type LineCall, VERDICTS } from '../analysis/landings.ts';
import { type MapFrame, netOf } from '../analysis/mapFrame.ts';
import type { Timeline } from '../analysis/timeline.ts';
import { Chart, ticks, wholeTicks } from './chart.ts';
import type { SvgAttributes } from './svg.ts';

const HEIGHT = 190;
const CHARACTER_PX = 7;
const LABEL_ROOM_PX = 12;
export const DEPTH_FT = 2;

const BARS: Readonly<Record<LineCall, SvgAttributes>> = {
  in: { fill: 'var(--in)', stroke: 'var(--in)' },
  out: { fill: 'var(--paper)', stroke: 'var(--out)', 'stroke-width': 1.5 },
  'not judged': { fill: 'var(--line)', stroke: 'var(--line)' },
};

interface DepthBar extends Record<LineCall, number> {
  readonly from: number;
}

/** @returns landings by their distance from the net, or by y where no court is drawn; empty bars between full ones included. */
export function depthBars(depths: Readonly<Record<LineCall, Bins>>, frame: MapFrame): DepthBar[] {
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

/** @param player whose landings they are. */
export function depthFigure(player: string, bars: readonly DepthBar[], frame: MapFrame): Html {
  const { court } = frame;
  const total = bars.reduce((sum, bar) => sum + sumOf(bar), 0);
  const deepest = bars.reduce((a, b) => (sumOf(b) > sumOf(a) ? b : a));
  const most = sumOf(deepest);
  const parts = bars.flatMap((bar) => {
    let y = 0;
    return VERDICTS.map((verdict) => {
      const y1 = y;
      y += bar[verdict];
      return { x1: bar.from, x2: bar.from + DEPTH_FT, y1, y2: y, verdict };
    });
  });
  const end = bars.at(-1)!.from + DEPTH_FT;
  // With a court always the same, so that two reports can be compared.
  const x =
    court === undefined
      ? ([bars[0]!.from, end] as const)
      : ([0, Math.max(frame.y2 - netOf(frame), end)] as const);
  const chart = new Chart({ height: HEIGHT, left: countsPx(most), x, y: [0, most] })
    .axisX(ticks(x, 4), court === undefined ? 'y, ft' : 'feet from the net')
    .axisY(wholeTicks(most));
  for (const verdict of VERDICTS) {
    const drawn = parts.filter((part) => part.verdict === verdict && part.y2 > part.y1);
    chart.bars(drawn, BARS[verdict], 1);
  }
  chart.floor();
  if (court !== undefined) chart.rule(court.length / 2, 'base line', 12, 'middle');
  const told = `${count(total, 'landing')}, the most ${deepest.from} to ${deepest.from + DEPTH_FT} ft ${court === undefined ? 'along' : 'from the net'}`;
  return chart.figure(`Depth of ${player}: ${told}`, html`<b>Depth</b> ${told}`);
}

const sumOf = (bar: DepthBar) => bar.in + bar.out + bar['not judged'];

/** @returns room for the labels of an axis of counts: four digits and more take more. */
function countsPx(most: number): number {
  return Math.max(36, LABEL_ROOM_PX + CHARACTER_PX * number(most).length);
}

interface HistogramOptions {
  readonly title: string;
  /** Whose values they are, for screen readers. */
  readonly of: string;
  /** Of the values, below the axis. */
  readonly unit: string;
  /** How many there are, such as "827 speeds". */
  readonly total: string;
  /** Where the values are counts: what one of them is. */
  readonly noun?: string;
  /** Of a bar: the first with which there are at most 40. */
  readonly widths: readonly number[];
}

/** @returns the distribution of values that are not negative, with the median and the 95th percentile. */
export function histogram(values: Bins, { title, of, unit, noun, total, widths }: HistogramOptions): Html {
  const [median, high] = [values.quantile(0.5)!, values.quantile(0.95)!];
  const width = widths.find((width) => values.quantile(1)! / width <= 40) ?? widths.at(-1)!;
  const counts = new Map<number, number>();
  for (const [value, times] of values.entries()) {
    const from = Math.floor((value + 1e-6) / width) * width;
    counts.set(from, (counts.get(from) ?? 0) + times);
  }
  const most = Math.max(...counts.values());
  // A bar of counts reaches half a step to either side, so that it stands on its numbers and not between them.
  const left = noun === undefined ? 0 : -0.5;
  const bars = Array.from(counts, ([from, y2]) => ({ x1: from + left, x2: from + left + width, y1: 0, y2 }));
  const x = [left, bars.at(-1)!.x2] as const;
  const say = (value: number) =>
    noun === undefined ? `${number(value, 1)} ${unit}` : count(Math.round(value), noun);
  const told = `${total}, median ${say(median)}, 95th percentile ${say(high)}`;
  return (
    new Chart({ height: HEIGHT, left: countsPx(most), right: 40, top: 32, x, y: [0, most] })
      .axisX(noun === undefined ? ticks(x, 6) : wholeTicks(x[1], 6), unit)
      .axisY(wholeTicks(most))
      .bars(bars, { fill: 'var(--in)' }, 0.5)
      .floor()
      // On a line each: the two may be close together, and are the same where all balls are as fast.
      .rule(median, 'median', 26, 'start')
      .rule(high, '95 %', 12, 'start')
      .figure(`${title} of ${of}: ${told}`, html`<b>${title}</b> ${told}`)
  );
}

/** @returns events of one type over the session. */
export function rateFigure(type: EventType, timeline: Timeline): Html {
  const steps = (timeline.steps.at(-1)?.at ?? 0) + 1;
  const perMinute = timeline.stepMs / 60_000;
  const bars = timeline.steps.flatMap(({ at, counts }) => {
    const events = counts.get(type) ?? 0;
    const [x1, x2] = [at * perMinute, (at + 1) * perMinute];
    return events === 0 ? [] : [{ x1, x2, y1: 0, y2: events / perMinute }];
  });
  const most = Math.max(...bars.map(({ y2 }) => y2), 0);
  const total = timeline.steps.reduce((sum, { counts }) => sum + (counts.get(type) ?? 0), 0);
  const x = [0, Math.max(steps * perMinute, 1)] as const;
  const y = [0, Math.max(most, 1)] as const;
  const told = `${count(total, 'event')}, at most ${number(most)} a minute`;
  return new Chart({ height: 130, left: countsPx(most), top: 12, x, y })
    .axisX(ticks(x, 5), 'minutes')
    .axisY(wholeTicks(y[1], 3))
    .bars(bars, { fill: 'var(--in)' })
    .floor()
    .figure(`${TYPES[type].title} a minute: ${told}`, html`<b>${TYPES[type].title}</b> ${told}`);
}
