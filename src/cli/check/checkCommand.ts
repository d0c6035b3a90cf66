import type { Command } from 'commander';
import { json } from '../options/optionParsers.ts';

export function addCheck(program: Command): void {
  program
    .command('check')
    .description('look whether the box is set up as it should be: each finding says what to do')
    .option('--full', 'read the whole database: its integrity, every event, every key, every count')
    .addOption(json())
    .addHelpText('after', EXAMPLE)
    .action(async (_options, command) =>
      (await import('./check.ts')).check(command.optsWithGlobals(), program),
    );
}

const EXAMPLE = `
The exit status is 1 where a check fails, and 0 where there are only warnings.

Example:
  sudo courtd check`;
