import type { Command } from 'commander';
import type { BoxOptions } from '../health/checks/box.ts';
import { json } from './options/optionParsers.ts';
import { exitWhenPrinted, type JsonOption, printJson, printText } from './terminal/output.ts';

const HELP = `
The exit status is 1 where a check fails, and 0 where there are only warnings.

Examples:
  sudo courtd check
  sudo courtd check --acknowledge    what the log says is solved`;

export function addCheck(program: Command): void {
  program
    .command('check')
    .description('look whether the box is set up as it should be: each finding says what to do')
    .option('--full', 'read the whole database: its integrity, every event, every key, every count')
    .option('--acknowledge', 'what the log says now is solved: it is not told again, and what comes next is')
    .addOption(json())
    .addHelpText('after', HELP)
    .action(async (_options, command) => check(command.optsWithGlobals(), program));
}

async function check(options: BoxOptions & JsonOption, program: Command): Promise<void> {
  const { inspectBox } = await import('../health/checks/box.ts');
  const { runChecks } = await import('../health/checks/allChecks.ts');
  const { checksText } = await import('./terminal/checksText.ts');
  const { checkContextOf } = await import('./options/checkContext.ts');
  const box = await inspectBox(options, checkContextOf(program, options.data));
  const results = await runChecks(box);
  if (results.some(({ level }) => level === 'fail')) process.exitCode = 1;
  if (options.json) printJson(results);
  else printText(checksText(results));
  exitWhenPrinted();
}
