import { type Html, number } from '../../base/html.ts';
import type { Line } from '../../protocol/courtLines.ts';
import { Drawing, figure, linear, mark, type Range, type SvgAttributes } from './svg.ts';

/** Charts are drawn at the width of a phone, and a wide page puts them side by side: scaled down, their text would be too small. */
const WIDTH = 328;
/** Between an axis and its labels. */
const LABEL_GAP_PX = 9;
/** Room below the marks, for the axis and what it is called. */
const BELOW_PX = 36;

interface ChartOptions {
  readonly height: number;
  /** The value at the top; at the bottom is 0. */
  readonly most: number;
  /** The values at the left and the right. */
  readonly x: Range;
  /** Room around the marks, in pixels. */
  readonly right?: number;
  readonly top?: number;
}

/** A chart of bars with two axes; a later bar covers an earlier one. */
export class Chart {
  readonly #height: number;
  /** What the axes enclose. */
  readonly #area: Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>;
  readonly #in: Drawing;
  readonly #marks: Html[] = [];

  constructor({ height, most, x, right = 20, top = 24 }: ChartOptions) {
    // Counts of four digits and more need more room.
    const left = Math.max(36, 12 + 7 * number(most).length);
    const area = { left, right: WIDTH - right, top, bottom: height - BELOW_PX };
    this.#height = height;
    this.#area = area;
    this.#in = new Drawing(linear(x, [left, area.right]), linear([0, most], [area.bottom, top]));
  }

  axisX(at: readonly number[], label: string): this {
    const { left, right, bottom } = this.#area;
    for (const value of at) {
      const x = this.#in.x(value);
      this.#line({ x1: x, y1: bottom, x2: x, y2: bottom + 3 });
      this.#text(x, bottom + LABEL_GAP_PX, plain(at)(value), BELOW);
    }
    return this.#text((left + right) / 2, this.#height - 12, label, BELOW);
  }

  axisY(at: readonly number[]): this {
    const look = { dy: '.32em', 'text-anchor': 'end' };
    for (const value of at)
      this.#text(this.#area.left - LABEL_GAP_PX, this.#in.y(value), plain(at)(value), look);
    return this;
  }

  /** Draws bars and the axis that they stand on. */
  bars(bars: readonly Line[]): this {
    const { left, right, bottom } = this.#area;
    const widthPx = this.#in.x(bars[0]?.x2 ?? 1) - this.#in.x(bars[0]?.x1 ?? 0);
    const marks = bars.map((bar) => this.#in.rect(bar, {}, [Math.min(0.5, widthPx / 4), 0]));
    this.#marks.push(mark('g', { fill: 'var(--in)' }, marks));
    return this.#line({ x1: left, y1: bottom, x2: right, y2: bottom });
  }

  /** Marks a value with a dashed line and its name above the chart. @param up pixels from the chart to the name's top. */
  rule(value: number, name: string, up: number): this {
    const [x, { top, bottom }] = [this.#in.x(value), this.#area];
    this.#line({ x1: x, y1: top, x2: x, y2: bottom }, { 'stroke-dasharray': '4 3' });
    return this.#text(x + 3, top - up, name, { ...BELOW, 'text-anchor': 'start' });
  }

  /** @param name for screen readers. */
  figure(name: string, caption: Html): Html {
    return figure({ name, caption, width: WIDTH, height: this.#height, marks: this.#marks });
  }

  /** In pixels. */
  #line({ x1, y1, x2, y2 }: Line, look: SvgAttributes = {}): this {
    this.#marks.push(mark('line', { x1, y1, x2, y2, stroke: 'var(--ink)', ...look }));
    return this;
  }

  #text(x: number, y: number, text: string, look: SvgAttributes): this {
    this.#marks.push(mark('text', { x, y, ...look }, text));
    return this;
  }
}

/** A text is below its place. */
const BELOW = { dy: '.71em' };

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
