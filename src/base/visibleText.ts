/**
 * What a camera sends must not reach a terminal unescaped: C1 controls start escape sequences, as ESC does, and bidirectional
 * marks reorder the text around them (CVE-2021-42574). Line separators and lone surrogates are escaped as well.
 */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}]/gu;
const UNSAFE_IN_LINES = /(?!\t|\r?\n)[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** @returns the text on one line, with control characters escaped, such as `\u009b`. */
export function visible(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** The same for text of several lines: tabs and line breaks stay. JSON keeps its value. */
export function visibleLines(text: string): string {
  return text.replace(UNSAFE_IN_LINES, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** @returns a text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The order of names for people: camera 2 before camera 10. */
export const byName = new Intl.Collator('en', { numeric: true }).compare;
