import type { Bins } from '../../base/bins.ts';
import { count, type Html, html, localTime, number } from '../../base/html.ts';
import { span } from '../../base/units.ts';
import type { Timeline } from '../analysis/timeline.ts';
import { barChart, ticks, wholeTicks } from './chart.ts';

interface HistogramOptions {
  readonly title: string;
  /** Whose values they are, for screen readers. */
  readonly of: string;
  /** Of the values, below the axis. */
  readonly unit: string;
  /** How many there are, such as "827 speeds". */
  readonly total: string;
  /** The noun of a count, if the values are counts. */
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
  // A bar of counts reaches half a step to either side, so that it is above its number.
  const left = noun === undefined ? 0 : -0.5;
  const bars = Array.from(counts, ([from, y2]) => ({ x1: from + left, x2: from + left + width, y1: 0, y2 }));
  const x = [left, bars.at(-1)!.x2] as const;
  const say = (value: number) =>
    noun === undefined ? `${number(value, 1)} ${unit}` : count(Math.round(value), noun);
  const told = `${total}, median ${say(median)}, 95th percentile ${say(high)}`;
  return barChart({
    ...{ bars, x, unit, ticks: noun === undefined ? ticks(x, 6) : wholeTicks(x[1], 6) },
    rules: [
      [median, 'median'],
      [high, '95 %'],
    ],
    name: `${title} of ${of}: ${told}`,
    caption: html`<b>${title}</b> ${told}`,
  });
}

/** @returns the shots over the session. */
export function timelineFigure({ counts, stepMs, startMs }: Timeline): Html {
  const step = stepMs / 60_000;
  const bars = counts.flatMap((y2, i) => (y2 === 0 ? [] : [{ x1: i * step, x2: (i + 1) * step, y1: 0, y2 }]));
  const x = [0, counts.length * step] as const;
  const told = `at most ${number(Math.max(...counts))} in ${step === 1 ? 'a minute' : span(stepMs / 1_000)}, from ${localTime(startMs).slice(0, 16)}`;
  return barChart({
    ...{ bars, x, ticks: ticks(x, 6), unit: 'minutes' },
    name: `Timeline of shots: ${told}`,
    caption: html`<b>Timeline of shots</b> ${told}`,
  });
}
