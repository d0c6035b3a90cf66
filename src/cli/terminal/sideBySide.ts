import { tableLines } from './output.ts';
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
  return tableLines([['', 'stored', 'other'], ...rows]);
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** JSON.parse would round long numbers. */
function exactly(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' && context?.source !== undefined ? rawJSON(context.source) : value;
}

/** @returns the members of an event and those of its payload, each as JSON text. */
function fieldsOf(event: string): Map<string, string> {
  const { payload = {}, ...members } = JSON.parse(
    event,
    exactly as (name: string, value: unknown) => unknown,
  );
  const inner = Object.entries(payload).map(([name, member]) => [`payload.${name}`, member] as const);
  const all = [...Object.entries(members), ...inner];
  return new Map(all.map(([name, member]) => [name, JSON.stringify(member)]));
}
