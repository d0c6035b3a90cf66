import { lengthOf, padded } from './style.ts';

/** Values up to this width fit side by side on 80 columns; longer ones are printed one below the other. */
const BESIDE_COLUMNS = 25;
/** How much of a long value is shown. */
const SHOWN_CHARS = 200;

/**
 * @param stored, other two events as JSON text.
 * @returns the fields in which they differ, with both values, for people. Fields of the payload have rows of their own.
 */
export function sideBySide(stored: string, other: string): string[] {
  const [ours, theirs] = [fieldsOf(stored), fieldsOf(other)];
  const names = new Set([...ours.keys(), ...theirs.keys()]);
  const rows = [...names].flatMap((name): Row[] => {
    const values = [ours.get(name) ?? '-', theirs.get(name) ?? '-'] as const;
    return values[0] === values[1] ? [] : [[name, ...values.map(cut)] as unknown as Row];
  });
  const width = (at: 0 | 1) =>
    Math.max(...[HEADINGS, ...rows.filter(isShort)].map((row) => lengthOf(row[at])));
  const [first, second] = [width(0), width(1)];
  return [HEADINGS, ...rows].flatMap((row) => {
    const [name, a, b] = row;
    if (isShort(row)) return [`${padded(name, first)}  ${padded(a, second)}  ${b}`.trimEnd()];
    return [name, `  stored  ${a}`, `  other   ${b}`];
  });
}

type Row = readonly [name: string, stored: string, other: string];

const HEADINGS: Row = ['', 'stored', 'other'];

function isShort([, a, b]: Row): boolean {
  return lengthOf(a) <= BESIDE_COLUMNS && lengthOf(b) <= BESIDE_COLUMNS;
}

function cut(text: string): string {
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}

/** @returns the members of an event and those of its payload, each as JSON text. */
function fieldsOf(event: string): Map<string, string> {
  const fields = new Map<string, string>();
  const add = (prefix: string, value: object) => {
    for (const [name, member] of Object.entries(value)) {
      if (prefix === '' && name === 'payload') add('payload.', member);
      else fields.set(`${prefix}${name}`, JSON.stringify(member));
    }
  };
  add('', exactly(event));
  return fields;
}

/** JSON.parse would round long numbers. */
function exactly(text: string): object {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
  const keep = (_name: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && context?.source !== undefined ? rawJSON(context.source) : value;
  return JSON.parse(text, keep as (name: string, value: unknown) => unknown);
}
