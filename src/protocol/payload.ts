import { PAYLOAD, PAYLOAD_FIELDS, type PayloadField } from './eventTypes.ts';
import { JsonReader } from './jsonReader.ts';
import { MemberNames } from './memberNames.ts';

/** The payload of an event: what its known fields hold, and what their columns have (src/http/README.md, "Payload"). */

type Of<Kind> = Kind extends 'number' ? number : Kind extends 'boolean' ? boolean : string;

/** The known fields that hold a value of another kind, or a number that a double cannot hold, as `JsonReader.read` gives them. */
export type OddFields = { readonly [name in PayloadField]?: unknown };

/** The known fields as their columns have them; undefined if the column stays empty. */
export type PayloadColumns = {
  readonly [name in PayloadField]: Of<(typeof PAYLOAD)[name]['kind']> | undefined;
};

const NAMES = new MemberNames(PAYLOAD_FIELDS);
const KINDS = PAYLOAD_FIELDS.map((name) => PAYLOAD[name].kind);
/** What almost every payload has: all of its known fields are valid for every type of event. */
export const NONE_ODD: OddFields = Object.freeze({});

/** Reads a payload and moves behind it. @returns NONE_ODD, or the fields that are odd. */
export function readPayload(json: JsonReader): OddFields {
  let odd: { [name in PayloadField]?: unknown } | undefined;
  for (json.enter('{'); json.nextMember(); ) {
    const field = json.nameIn(NAMES);
    const value = field < 0 ? json.skip() : json.read();
    // Of duplicate members the last counts.
    if (field < 0 || isPlain(value, KINDS[field])) delete odd?.[PAYLOAD_FIELDS[field]!];
    else odd = { ...odd, [PAYLOAD_FIELDS[field]!]: value };
  }
  return odd ?? NONE_ODD;
}

/** 1e400 has become Infinity. */
function isPlain(value: unknown, kind: string | undefined): boolean {
  if (typeof value === 'number') return kind === 'number' && Number.isFinite(value);
  return typeof value === kind || value === null;
}

/** @returns what each of the fields holds, such as "kmh as string"; undefined if there are none. */
export function describeOdd(odd: OddFields): string[] | undefined {
  if (odd === NONE_ODD) return undefined;
  const held = Object.entries(odd).map(([name, value]) => {
    return `${name} as ${Array.isArray(value) ? 'array' : typeof value}`;
  });
  return held.length === 0 ? undefined : held;
}

/**
 * @param payload JSON text of an object.
 * @returns the texts of the columns, in the order of PAYLOAD_FIELDS; undefined if a column stays empty. A number is as it was sent,
 * digit for digit, in a string's place too.
 * @throws {JsonError} if the text is damaged.
 */
export function payloadCells(payload: string): (string | undefined)[] {
  const json = new JsonReader(payload);
  const cells = KINDS.map((): string | undefined => undefined);
  for (json.enter('{'); json.nextMember(); ) {
    const field = json.nameIn(NAMES);
    const from = json.at;
    json.skip();
    if (field >= 0) cells[field] = cellOf(json.slice(from, json.at), KINDS[field]!);
  }
  return cells;
}

/** The beginnings of values that a column takes. */
const FITTING = { number: /^[-0-9]/, boolean: /^[tf]/, string: /^[^n[{]/ };

function cellOf(value: string, kind: (typeof KINDS)[number]): string | undefined {
  if (!FITTING[kind].test(value)) return undefined;
  if (!value.startsWith('"')) return value;
  return value.includes('\\') ? (JSON.parse(value) as string) : value.slice(1, -1);
}

const VALUE_OF = { number: Number, boolean: (cell: string) => cell === 'true', string: String };

/** @param payload JSON text of an object. @throws {JsonError} if it is damaged. */
export function payloadColumns(payload: string): PayloadColumns {
  const columns = payloadCells(payload).map((cell, i) => [
    PAYLOAD_FIELDS[i],
    cell && VALUE_OF[KINDS[i]!](cell),
  ]);
  return Object.fromEntries(columns);
}
