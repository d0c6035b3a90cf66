/** Every string of a JSON text, and the colon after it if it is a name. */
const STRINGS = /("(?:[^"\\]|\\.)*")(\s*:)?/gs;

/** TypeScript's own type does not know the source of a number yet. */
type Parse = (
  text: string,
  revive: (name: string, value: unknown, context: { readonly source: string }) => unknown,
) => unknown;

/**
 * Reads JSON with the digits of its numbers, by means other than jsonReader.ts. JSON.parse gets names without a backslash: after one with
 * a backslash it gives members of later texts the wrong name (nodejs/node#63785).
 *
 * @param number makes the value of a number from its source text.
 * @throws {SyntaxError}
 */
export function parseJson(text: string, number: (source: string) => unknown): unknown {
  const numbers = new Map<string, number>();
  const marked = text.replace(STRINGS, (whole, string: string, colon?: string) => {
    if (colon === undefined) return whole;
    const name = JSON.parse(string) as string;
    if (!numbers.has(name)) numbers.set(name, numbers.size);
    return `"n${numbers.get(name)}"${colon}`;
  });
  const names = [...numbers.keys()];
  return (JSON.parse as Parse)(marked, (_, value, { source }) => {
    if (typeof value === 'number') return number(source);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    // Without a prototype: __proto__ is a member like any other.
    const object: Record<string, unknown> = Object.create(null);
    for (const [mark, member] of Object.entries(value)) object[names[Number(mark.slice(1))]!] = member;
    return object;
  });
}
