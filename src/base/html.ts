import { visible } from './visibleText.ts';

/** Characters of a name that the page shows: an id may have 256, and a shot type as many as a body. */
const NAME_SHOWN = 40;

/** Text that is already markup. Everything else is escaped when it is put into markup. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Part = Html | string | number | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A template tag: whatever is put into it is escaped, unless it is Html. Control characters are made visible. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, i) => text + markup(parts[i - 1] ?? '') + string));
}

function markup(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(markup).join('');
  return visible(String(part)).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** @returns a name of an event as the page shows it: truncated if it is long, and with control characters visible. */
export function shortName(name: string): string {
  const characters = [...name];
  return visible(characters.length <= NAME_SHOWN ? name : `${characters.slice(0, NAME_SHOWN - 1).join('')}…`);
}

/** @returns a table; the first cell of a row is its heading, numbers are right-aligned. */
export function table(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): Html {
  const cell = (value: string | number, i: number) => {
    const text = typeof value === 'number' ? number(value) : value;
    if (i === 0) return html`<th scope="row">${text}</th>`;
    return html`<td${NUMERIC.test(`${value}`) ? NUMBER_CLASS : ''} data-heading="${headings[i]!}">${text}</td>`;
  };
  const heading = (text: string, i: number) => {
    const isOfNumbers = i > 0 && rows.length > 0 && rows.every((row) => NUMERIC.test(`${row[i]}`));
    return html`<th scope="col"${isOfNumbers ? NUMBER_CLASS : ''}>${text}</th>`;
  };
  return html`<div class="scroll" tabindex="0" role="group" aria-label="${headings.join(', ')}"><table${headings.length > NARROW_COLUMNS ? WIDE_CLASS : ''}>
<thead><tr>${headings.map(heading)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map(cell)}</tr>\n`)}</tbody>
</table></div>`;
}

const NUMBER_CLASS = new Html(' class="number"');
/** Columns that fit on a phone; there, a wider table shows its cells below each other. */
const NARROW_COLUMNS = 4;
const WIDE_CLASS = new Html(' class="wide"');
const NUMERIC = /^(?:[-−+]?\d[\d,.]*(?:\s?(?:%|s|min|h|d|ft|m)(?: \d\d (?:s|min))?)?(?: of [\d,]+)?|–)$/;

/** @returns a number as people read it: 12,345.6. */
export function number(value: number, digits = 0): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** @returns a share such as "81 %", on one line; a dash of nothing. */
export function percent(part: number, whole: number): string {
  return whole === 0 ? '–' : `${Math.round((100 * part) / whole)}\u00a0%`;
}

/** @returns "1 landing", "1,234 landings". */
export function count(of: number, noun: string): string {
  return `${number(of)} ${noun}${of === 1 ? '' : 's'}`;
}

/** @returns a moment by the local time of the box, as Swedes write it: "2026-03-14 15:09:26". */
export function localTime(ms: number): string {
  return new Date(ms).toLocaleString('sv-SE');
}

/** @returns a local day as people write it: "14 March 2026". */
export function localDay(ms: number): string {
  return new Date(ms).toLocaleDateString('en-GB', { dateStyle: 'long' });
}

/** @returns a function that writes local times: without the date if all of them are on the same day. */
export function clock(fromMs: number, toMs: number): (ms: number) => string {
  const isOneDay = localTime(fromMs).slice(0, 10) === localTime(toMs).slice(0, 10);
  return isOneDay ? (ms) => localTime(ms).slice(11) : localTime;
}

/** @returns what the times of a page are, such as "Times are local: Europe/Berlin". */
export function zoneSentence(): string {
  return `Times are local: ${new Intl.DateTimeFormat().resolvedOptions().timeZone}`;
}
