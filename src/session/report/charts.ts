import type { Bins } from '../../base/bins.ts';
import { count, type Html, localTime, number } from '../../base/html.ts';
import { span } from '../../base/units.ts';
import type { Line } from '../../protocol/courtLines.ts';
import { drawing, figure, linear, mark, type Range, type Words } from './svg.ts';

/** Charts are drawn at the width of a phone, and a wide page puts them side by side: scaled down, their text would be too small. */
const [WIDTH, HEIGHT] = [328, 190];
/** Room below the bars, for the axis and what it is called. */
const BELOW_PX = 36;
/** Between an axis and its labels. */
const LABEL_GAP_PX = 9;
/** A text is below its place. */
const BELOW = { dy: '.71em' };
/** What dashed lines mark, and pixels from the bars up to its name: on a line each, since two may be close together, or the same. */
const RULES = { median: 26, '95 %': 12 } as const;

interface BarChart extends Words {
  /** In values. */
  readonly bars: readonly Line[];
  /** The values at the left and the right. */
  readonly x: Range;
  /** The values that have a number below the axis, and their unit. */
  readonly ticks: readonly number[];
  readonly unit: string;
  /** The values of RULES. */
  readonly rules?: readonly number[];
}

/** @returns a chart of bars that begin at 0. */
function barChart({ bars, x, ticks: at, unit, rules = [], ...words }: BarChart): Html {
  const most = Math.max(...bars.map(({ y2 }) => y2));
  // Counts of four digits and more need more room, and so do the names of rules.
  const left = Math.max(36, 12 + 7 * number(most).length);
  const [right, top] = rules.length === 0 ? [WIDTH - 20, 24] : [WIDTH - 40, 32];
  const bottom = HEIGHT - BELOW_PX;
  const within = drawing(linear(x, [left, right]), linear([0, most], [bottom, top]));
  const line = (place: Line, look = {}) => mark('line', { ...place, stroke: 'var(--ink)', ...look });
  const text = (x: number, y: number, content: string, look: object) =>
    mark('text', { x, y, ...look }, content);
  const down = wholeTicks(most);
  const widthPx = within.x(bars[0]?.x2 ?? 1) - within.x(bars[0]?.x1 ?? 0);
  const drawn = bars.map((bar) => within.rect(bar, {}, [Math.min(0.5, widthPx / 4), 0]));
  const marks = [
    ...at.flatMap((value) => {
      const place = within.x(value);
      return [
        line({ x1: place, y1: bottom, x2: place, y2: bottom + 3 }),
        text(place, bottom + LABEL_GAP_PX, plain(at)(value), BELOW),
      ];
    }),
    text((left + right) / 2, HEIGHT - 12, unit, BELOW),
    ...down.map((value) =>
      text(left - LABEL_GAP_PX, within.y(value), plain(down)(value), { dy: '.32em', 'text-anchor': 'end' }),
    ),
    mark('g', { fill: 'var(--in)' }, drawn),
    line({ x1: left, y1: bottom, x2: right, y2: bottom }),
    ...Object.entries(RULES).flatMap(([name, upPx], i) => {
      if (rules[i] === undefined) return [];
      const place = within.x(rules[i]);
      return [
        line({ x1: place, y1: top, x2: place, y2: bottom }, { 'stroke-dasharray': '4 3' }),
        text(place + 3, top - upPx, name, { ...BELOW, 'text-anchor': 'start' }),
      ];
    }),
  ];
  return figure({ ...words, width: WIDTH, height: HEIGHT, marks });
}

/** @returns how tick values are written: with as many digits as their step has. */
function plain(at: readonly number[]): (value: number) => string {
  const step = (at[1] ?? 1) - (at[0] ?? 0);
  const digits = step < 1 ? Math.ceil(-Math.log10(step) - 1e-6) : 0;
  return (value) => number(value, digits);
}

/** @param about how many. @returns round values in a range: multiples of 1, 2 or 5 times a power of ten. */
export function ticks([from, to]: Range, about: number): number[] {
  const wanted = (to - from) / about;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const factor = [10, 5, 2, 1].find((factor) => wanted / power >= factor / Math.SQRT2) ?? 1;
  const step = factor * power;
  const [first, last] = [Math.ceil(from / step - 1e-9), Math.floor(to / step + 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

/** @returns ticks from 0 on, none between whole numbers. */
export function wholeTicks(most: number, about = 5): number[] {
  return ticks([0, most], Math.min(about, most));
}

interface HistogramOptions {
  readonly title: string;
  /** Whose values they are, for screen readers. */
  readonly of: string;
  /** The unit of the values, below the axis. */
  readonly unit: string;
  /** How many there are, such as "827 speeds". */
  readonly total: string;
  /** The noun of a count, if the values are counts. */
  readonly noun?: string;
  /** The widths of a bar: the first that gives at most 40 bars is used. */
  readonly widths: readonly number[];
}

/** @returns a bar for each width of values, from `first` on, that has any. @param left where the bar of the first ones begins. */
function barsOf(values: Bins, width: number, left = 0, first = 0): Line[] {
  const counts = new Map<number, number>();
  for (const [value, times] of values.entries()) {
    const x1 = Math.floor((value - first + 1e-6) / width) * width + left;
    counts.set(x1, (counts.get(x1) ?? 0) + times);
  }
  return Array.from(counts, ([x1, y2]) => ({ x1, x2: x1 + width, y1: 0, y2 }));
}

/** @returns the distribution of values that are not negative, with the median and the 95th percentile. */
export function histogram(values: Bins, { title, of, unit, noun, total, widths }: HistogramOptions): Html {
  const [median, high] = [values.quantile(0.5)!, values.quantile(0.95)!];
  const width = widths.find((width) => values.quantile(1)! / width <= 40) ?? widths.at(-1)!;
  // A bar of counts reaches half a step to either side, so that it is above its number.
  const left = noun === undefined ? 0 : -0.5;
  const bars = barsOf(values, width, left);
  const x = [left, bars.at(-1)!.x2] as const;
  const say = (value: number) =>
    noun === undefined ? `${number(value, 1)} ${unit}` : count(Math.round(value), noun);
  return barChart({
    ...{ bars, x, unit, ticks: noun === undefined ? ticks(x, 6) : wholeTicks(x[1], 6) },
    rules: [median, high],
    title,
    about: `${title} of ${of}`,
    told: `${total}, median ${say(median)}, 95th percentile ${say(high)}`,
  });
}

/** With more bars than this, the length of a step is doubled. */
const STEPS_MAX = 720;

/** @param minutes of the shots, since 1970. @returns the shots over the session, in steps of a minute or longer ones. */
export function timelineFigure(minutes: Bins): Html {
  const [first, last] = [minutes.quantile(0)!, minutes.quantile(1)!];
  let step = 1;
  while (last - first >= STEPS_MAX * step) step *= 2;
  const bars = barsOf(minutes, step, 0, first);
  const x = [0, bars.at(-1)!.x2] as const;
  const most = number(Math.max(...bars.map(({ y2 }) => y2)));
  const from = localTime(first * 60_000).slice(0, 16);
  return barChart({
    ...{ bars, x, ticks: ticks(x, 6), unit: 'minutes', title: 'Timeline of shots' },
    told: `at most ${most} in ${step === 1 ? 'a minute' : span(step * 60)}, from ${from}`,
  });
}
