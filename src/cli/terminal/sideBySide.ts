import { tableLine } from './output.ts';
import { cut } from './style.ts';

/** How much of a value is shown. */
const SHOWN_COLUMNS = 60;

/**
 * @param stored, other two events as JSON text.
 * @returns the fields in which they differ, with both values, for people. Fields of the payload have rows of their own.
 */
export function sideBySide(stored: string, other: string): string[] {
  const [ours, theirs] = [fieldsOf(stored), fieldsOf(other)];
  const rows = [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((name) => ours.get(name) !== theirs.get(name))
    .map((name) => [name, ...[ours, theirs].map((fields) => cut(fields.get(name) ?? '-', SHOWN_COLUMNS))]);
  const all = [['', 'stored', 'other'], ...rows];
  return all.map(tableLine(all));
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
