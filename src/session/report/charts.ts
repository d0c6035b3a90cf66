import type { Bins } from '../../base/bins.ts';
import { count, type Html, html, localTime, number } from '../../base/html.ts';
import { span } from '../../base/units.ts';
import type { Timeline } from '../analysis/timeline.ts';
import { Chart, ticks, wholeTicks } from './chart.ts';

const HEIGHT = 190;

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
  const most = Math.max(...counts.values());
  // A bar of counts reaches half a step to either side, so that it is above its number.
  const left = noun === undefined ? 0 : -0.5;
  const bars = Array.from(counts, ([from, y2]) => ({ x1: from + left, x2: from + left + width, y1: 0, y2 }));
  const x = [left, bars.at(-1)!.x2] as const;
  const say = (value: number) =>
    noun === undefined ? `${number(value, 1)} ${unit}` : count(Math.round(value), noun);
  const told = `${total}, median ${say(median)}, 95th percentile ${say(high)}`;
  return (
    new Chart({ height: HEIGHT, most, right: 40, top: 32, x })
      .axisX(noun === undefined ? ticks(x, 6) : wholeTicks(x[1], 6), unit)
      .axisY(wholeTicks(most))
      .bars(bars)
      // On a line each: the two may be close together, and are the same if all balls are as fast.
      .rule(median, 'median', 26)
      .rule(high, '95 %', 12)
      .figure(`${title} of ${of}: ${told}`, html`<b>${title}</b> ${told}`)
  );
}

/** @returns the shots over the session. */
export function timelineFigure({ counts, stepMs, startMs }: Timeline): Html {
  const step = stepMs / 60_000;
  const most = Math.max(...counts);
  const bars = counts.flatMap((y2, i) => (y2 === 0 ? [] : [{ x1: i * step, x2: (i + 1) * step, y1: 0, y2 }]));
  const x = [0, counts.length * step] as const;
  const told = `at most ${number(most)} in ${step === 1 ? 'a minute' : span(stepMs / 1_000)}, from ${localTime(startMs).slice(0, 16)}`;
  return new Chart({ height: HEIGHT, most, x })
    .axisX(ticks(x, 6), 'minutes')
    .axisY(wholeTicks(most))
    .bars(bars)
    .figure(`Timeline of shots: ${told}`, html`<b>Timeline of shots</b> ${told}`);
}
