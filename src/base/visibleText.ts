/**
 * What a camera sends must not reach a terminal as it is: C1 controls begin escape sequences as ESC does, and bidirectional
 * marks show a text in another order (CVE-2021-42574). Line separators and lone surrogates go with them.
 */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}]/gu;
const UNSAFE_IN_LINES = /(?!\t|\r?\n)[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** @returns a text for one cell or line, with `\u009b` in place of what a terminal would obey. */
export function visible(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** The same for whole lines: tabs and line ends stay. JSON stays the same value. */
export function visibleLines(text: string): string {
  return text.replace(UNSAFE_IN_LINES, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
