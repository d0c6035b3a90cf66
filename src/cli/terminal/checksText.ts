import type { CheckResult, Level } from '../../base/finding.ts';
import { visible } from '../../base/visibleText.ts';
import { counted } from './output.ts';
import { canvasOf, styled } from './style.ts';

const STYLES = { ok: 'good', warn: 'warn', fail: 'fail' } as const;
const INDENT = '      ';

/** @returns a line each, as wide as the terminal; what to do below it. */
export function checksText(results: readonly CheckResult[]): string {
  const canvas = canvasOf(process.stdout);
  const lines = results.flatMap(({ name, level, message, advice }) => [
    `${styled(level, STYLES[level], canvas)}${wrapped(visible(`${name}: ${message}`), INDENT).slice(level.length)}`,
    ...(advice === '' ? [] : [wrapped(visible(advice), `${INDENT}  `)]),
  ]);
  const count = (which: Level) => results.filter(({ level }) => level === which).length;
  const sum = `${counted(results.length, 'check')}: ${count('ok')} ok, ${counted(count('warn'), 'warning')}, ${counted(count('fail'), 'failure')}.`;
  return `${[...lines, wrapped(sum, '')].join('\n')}\n`;
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
