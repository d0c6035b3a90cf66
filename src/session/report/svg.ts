import { Html, html, type Part } from '../../base/html.ts';
import type { Line } from '../../protocol/courtLines.ts';

/** How a mark looks: attributes of SVG. Colours are variables of the page's style, so that they fit light, dark and paper. */
export type SvgAttributes = Readonly<Record<string, string | number>>;

/** What a figure shows. */
export interface Words {
  readonly title: string;
  /** The title for screen readers, if it is another one. */
  readonly about?: string;
  /** Its numbers. */
  readonly told: string;
}

interface Figure extends Words {
  /** In pixels, which the page scales. */
  readonly width: number;
  readonly height: number;
  /** From the back to the front. */
  readonly marks: readonly Html[];
}

/** @returns one figure as inline SVG. */
export function figure({ title, about = title, told, width, height, marks }: Figure): Html {
  const image = html`<svg role="img" aria-label="${about}: ${told}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${marks}</svg>`;
  return html`<figure>${image}<figcaption><b>${title}</b> ${told}</figcaption></figure>\n`;
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

/** @returns what draws lines and rectangles whose places are values, such as feet. */
export function drawing(x: Scale, y: Scale) {
  const line = ({ x1, y1, x2, y2 }: Line, look: SvgAttributes = {}) =>
    mark('line', { x1: x(x1), y1: y(y1), x2: x(x2), y2: y(y2), ...look });
  /** @param inset pixels by which it is smaller on each side: left and right, top and bottom. */
  const rect = ({ x1, y1, x2, y2 }: Line, look: SvgAttributes = {}, [insetX, insetY] = [0, 0]) => {
    const [top, bottom] = [y(y1), y(y2)].sort((a, b) => a - b) as [number, number];
    const [width, height] = [x(x2) - x(x1) - 2 * insetX, bottom - top - 2 * insetY];
    return mark('rect', { x: x(x1) + insetX, y: top + insetY, width, height, ...look });
  };
  return { x, y, line, rect };
}
