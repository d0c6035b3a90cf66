import { styleText } from 'node:util';
import { visible } from '../../base/visibleText.ts';
import { counted } from './output.ts';

/** What a check has found: of `courtd check`, and of `courtd fleet check`. */
export interface ShownCheck {
  readonly name: string;
  readonly level: 'ok' | 'warn' | 'fail';
  readonly message: string;
  readonly advice: string;
}

const COLOURS = { ok: 'green', warn: 'yellow', fail: 'red' } as const satisfies Record<
  ShownCheck['level'],
  string
>;
const INDENT = '      ';

/** @returns a line each, as wide as the terminal; what to do below it. */
export function checksText(results: readonly ShownCheck[]): string {
  const lines = results.flatMap(({ name, level, message, advice }) => [
    `${coloured(level)}${wrapped(visible(`${name}: ${message}`), INDENT).slice(level.length)}`,
    ...(advice === '' ? [] : [wrapped(visible(advice), `${INDENT}  `)]),
  ]);
  const count = (which: ShownCheck['level']) => results.filter(({ level }) => level === which).length;
  const sum = `${counted(results.length, 'check')}: ${count('ok')} ok, ${counted(count('warn'), 'warning')}, ${counted(count('fail'), 'failure')}.`;
  return `${[...lines, wrapped(sum, '')].join('\n')}\n`;
}

function coloured(level: ShownCheck['level']): string {
  const isOff = !process.stdout.isTTY || (process.env.NO_COLOR ?? '') !== '';
  return isOff ? level : styleText(COLOURS[level], level, { validateStream: false });
}

/** @returns the text, indented, in lines that fit the terminal; a pipe gets one line. */
function wrapped(text: string, indent: string): string {
  const width = process.stdout.isTTY ? (process.stdout.columns ?? 80) : Number.POSITIVE_INFINITY;
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    const isFirst = line === indent;
    if (!isFirst && line.length + 1 + word.length > width) {
      lines.push(line);
      line = `${indent}${word}`;
    } else {
      line += isFirst ? word : ` ${word}`;
    }
  }
  return [...lines, line].join('\n');
}
