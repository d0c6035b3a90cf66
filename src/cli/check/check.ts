import { styleText } from 'node:util';
import type { Command } from 'commander';
import { visible } from '../../base/visibleText.ts';
import { runChecks } from '../checks/allChecks.ts';
import { type BoxOptions, lookAround } from '../checks/box.ts';
import type { CheckResult, Level } from '../checks/check.ts';
import { counted, type JsonOption, printJson } from '../terminal/output.ts';

/** `courtd check`. Exit status 1 where one fails. */
export async function check(options: BoxOptions & JsonOption, program: Command): Promise<void> {
  const box = await lookAround(options, program);
  const results = await runChecks(box);
  if (results.some(({ level }) => level === 'fail')) process.exitCode = 1;
  if (options.json) printJson(results);
  else process.stdout.write(textOf(results));
  // What hangs with a disk would keep this process as well.
  process.stdout.write('', () => process.exit());
}

const COLOURS = { ok: 'green', warn: 'yellow', fail: 'red' } as const satisfies Record<Level, string>;
const INDENT = '      ';

/** A line each, as wide as the terminal; what to do below it. */
function textOf(results: readonly CheckResult[]): string {
  const lines = results.flatMap(({ name, level, message, advice }) => [
    `${coloured(level)}${wrapped(visible(`${name}: ${message}`), INDENT).slice(level.length)}`,
    ...(advice === '' ? [] : [wrapped(visible(advice), `${INDENT}  `)]),
  ]);
  const count = (which: Level) => results.filter(({ level }) => level === which).length;
  const sum = `${counted(results.length, 'check')}: ${count('ok')} ok, ${counted(count('warn'), 'warning')}, ${counted(count('fail'), 'failure')}.`;
  return `${[...lines, wrapped(sum, '')].join('\n')}\n`;
}

function coloured(level: Level): string {
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
