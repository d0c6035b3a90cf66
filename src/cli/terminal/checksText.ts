import { counted } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import type { CheckResult, Level } from '../../health/finding.ts';
import { canvasOf, styled, wrap } from './style.ts';

const STYLES = { ok: 'good', warn: 'warn', fail: 'fail' } as const;
const INDENT = '      ';

/** @returns a line each, as wide as the terminal; what to do below it. */
export function checksText(results: readonly CheckResult[]): string {
  const canvas = canvasOf(process.stdout);
  const wrapped = (text: string, indent: string) =>
    wrap(visible(text), (canvas.columns ?? Number.POSITIVE_INFINITY) - indent.length)
      .map((line) => `${indent}${line}`)
      .join('\n');
  const lines = results.flatMap(({ name, level, message, advice }) => [
    `${styled(level, STYLES[level], canvas)}${wrapped(`${name}: ${message}`, INDENT).slice(level.length)}`,
    ...(advice === '' ? [] : [wrapped(advice, `${INDENT}  `)]),
  ]);
  const count = (which: Level) => results.filter(({ level }) => level === which).length;
  const sum = `${counted(results.length, 'check')}: ${count('ok')} ok, ${counted(count('warn'), 'warning')}, ${counted(count('fail'), 'failure')}.`;
  return `${[...lines, wrapped(sum, '')].join('\n')}\n`;
}
