import type { WriteStream } from 'node:tty';
import { visibleLines } from '../../base/visibleText.ts';

/** What a screen is drawn on. */
export interface Canvas {
  /** Undefined if lines may be as long as they are: a pipe. */
  readonly columns: number | undefined;
  /** Undefined if there may be as many lines as there are. */
  readonly rows: number | undefined;
  readonly hasColor: boolean;
}

/** A phone held upright, with large letters, has a few more. */
const SMALLEST = 30;

/** The canvas of a pipe, or a file. */
export const PLAIN: Canvas = { columns: undefined, rows: undefined, hasColor: false };

/** NO_COLOR of any content turns colours off (no-color.org). */
export function canvasOf(stream: WriteStream): Canvas {
  if (!stream.isTTY) return PLAIN;
  const { env } = process;
  return {
    columns: Math.max(stream.columns || 80, SMALLEST),
    rows: stream.rows || 24,
    hasColor: !env.NO_COLOR && env.TERM !== 'dumb',
  };
}

export type Style = 'good' | 'warn' | 'fail' | 'dim' | 'bold';
const CODES: Record<Style, string> = { good: '32', warn: '33', fail: '1;31', dim: '2', bold: '1' };

/** @returns a text as it is, or in a colour of the terminal. */
export function styled(text: string, style: Style | undefined, { hasColor }: Canvas): string {
  return style === undefined || !hasColor || text === '' ? text : `\x1b[${CODES[style]}m${text}\x1b[0m`;
}

/** What `styled` writes, and no other escape sequence. */
const OWN_CODES = new RegExp(`(\\x1b\\[(?:0|${Object.values(CODES).join('|')})m)`);

/** @returns a text with every control character escaped, but for the colours that `styled` gave it on this canvas. */
export function visibleStyled(text: string, { hasColor }: Canvas): string {
  if (!hasColor) return visibleLines(text);
  const parts = text.split(OWN_CODES);
  return parts.map((part, i) => (i % 2 === 1 ? part : visibleLines(part))).join('');
}

/** @returns a text in lines of at most so many columns; a longer word is a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && lengthOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** @returns a text of at most so many columns, with a mark where something is missing. */
export function cut(text: string, width: number): string {
  if (lengthOf(text) <= width) return text;
  let [kept, left] = ['', width - 1];
  for (const character of text) {
    left -= columnsOf(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept}~`;
}

/** @returns a line as it is, or cut to the width of the canvas. */
export function fit(line: string, { columns }: Canvas): string {
  return columns === undefined ? line : cut(line, columns);
}

/** Two columns each in a terminal (Unicode, UAX #11): a venue may name its courts in Chinese, Japanese or Korean. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const ASCII_ONLY = /^[\x20-\x7e]*$/;
/** Accents and joiners, which belong to the character before them. */
const NO_COLUMN = /[\p{Mn}\p{Me}\p{Cf}]/u;

function columnsOf(character: string): number {
  if (NO_COLUMN.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** @returns the columns of a terminal that a text takes. */
export function lengthOf(text: string): number {
  // Almost every text, and `session list` may have a million lines.
  if (ASCII_ONLY.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += columnsOf(character);
  return columns;
}

/** @returns a text with blanks behind it, or in front of it, so that it takes so many columns. */
export function padded(text: string, width: number, isNumber = false): string {
  const space = ' '.repeat(Math.max(0, width - lengthOf(text)));
  return isNumber ? `${space}${text}` : `${text}${space}`;
}
