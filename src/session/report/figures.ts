import { type Markish, type PlotOptions, plot } from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import { Html, html, type Part } from '../../base/html.ts';

/** Where Plot makes its SVG: there is no browser. */
const { document } = parseHTML('<!doctype html><html></html>');

export interface FigureOptions extends Omit<PlotOptions, 'marks'> {
  /** What the figure shows, with its numbers, for screen readers. */
  readonly name: string;
  readonly caption?: Part;
  readonly marks: readonly Markish[];
}

/** @returns one figure as inline SVG. Its colours are variables of the page's style, so that they fit light, dark and paper. */
export function figure({ name, caption, ...options }: FigureOptions): Html {
  const svg = plot({ ...options, marks: [...options.marks], figure: false, document } as PlotOptions);
  // The page's style sheet replaces it: the page's policy allows no other.
  svg.querySelector('style')?.remove();
  const drawn = rounded(svg.outerHTML).replace(/^<svg/, '');
  const image = html`<svg role="img" aria-label="${name}"${new Html(drawn)}`;
  return html`<figure>${image}${caption === undefined ? '' : html`<figcaption>${caption}</figcaption>`}</figure>\n`;
}

/** @returns the SVG with its coordinates rounded to a hundredth of a pixel, which halves it. */
function rounded(svg: string): string {
  return svg.replace(COORDINATES, (attribute) =>
    attribute.replace(/-?\d+\.\d{3,}/g, (digits) => String(Math.round(Number(digits) * 100) / 100)),
  );
}

const COORDINATES = / (?:d|transform|x|y|x1|x2|y1|y2|r|width|height)="[^"]*"/g;

/** @returns a sentence instead of an empty figure. */
export function nothing(sentence: string): Html {
  return html`<p class="nothing">${sentence}</p>\n`;
}
