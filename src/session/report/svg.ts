import { Html, html, type Part } from '../../base/html.ts';
import type { Line } from '../../protocol/courtLines.ts';

/** How a mark looks: attributes of SVG. Colours are variables of the page's style, so that they fit light, dark and paper. */
export type SvgAttributes = Readonly<Record<string, string | number>>;

interface Figure {
  /** What the figure shows, with its numbers, for screen readers. */
  readonly name: string;
  readonly caption: Html;
  /** In pixels, which the page scales. */
  readonly width: number;
  readonly height: number;
  /** From the back to the front. */
  readonly marks: readonly Html[];
}

/** @returns one figure as inline SVG. */
export function figure({ name, caption, width, height, marks }: Figure): Html {
  const image = html`<svg role="img" aria-label="${name}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${marks}</svg>`;
  return html`<figure>${image}<figcaption>${caption}</figcaption></figure>\n`;
}

/** @param content of an element that has any; numbers are rounded to a hundredth of a pixel. @returns one element of SVG. */
export function mark(element: string, look: SvgAttributes, content?: Part): Html {
  const attributes = Object.entries(look).map(([name, value]) => ` ${name}="${rounded(value)}"`);
  const start = `<${element}${attributes.join('')}`;
  if (content === undefined) return new Html(`${start}/>`);
  return html`${new Html(`${start}>`)}${content}${new Html(`</${element}>`)}`;
}

function rounded(value: string | number): string | number {
  return typeof value === 'number' ? Math.round(value * 100) / 100 : value;
}

export type Range = readonly [from: number, to: number];
type Scale = (value: number) => number;

/** @returns a linear scale from a range of values to one of pixels. */
export function linear([from, to]: Range, [start, end]: Range): Scale {
  return (value) => start + ((value - from) / (to - from)) * (end - start);
}

/** Draws what has its places in values, such as feet, by two scales. */
export class Drawing {
  readonly x: Scale;
  readonly y: Scale;

  constructor(x: Scale, y: Scale) {
    this.x = x;
    this.y = y;
  }

  line({ x1, y1, x2, y2 }: Line, look: SvgAttributes = {}): Html {
    return mark('line', { x1: this.x(x1), y1: this.y(y1), x2: this.x(x2), y2: this.y(y2), ...look });
  }

  /** @param inset pixels by which it is smaller on each side: left and right, top and bottom. */
  rect(
    { x1, y1, x2, y2 }: Line,
    look: SvgAttributes = {},
    [insetX, insetY]: readonly [number, number] = [0, 0],
  ): Html {
    const [left, right] = [this.x(x1), this.x(x2)];
    const [top, bottom] = [this.y(y1), this.y(y2)].sort((a, b) => a - b) as [number, number];
    const [width, height] = [right - left - 2 * insetX, bottom - top - 2 * insetY];
    return mark('rect', { x: left + insetX, y: top + insetY, width, height, ...look });
  }
}
