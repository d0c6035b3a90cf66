import type { Command } from 'commander';
import { notEmpty } from '../options/optionParsers.ts';

export function addSupport(program: Command): void {
  program
    .command('support')
    .description(
      'write one text file for support: versions, settings, checks, status, rejections, counts, the log; no token, no payload',
    )
    .option('-o, --output <file>', 'write to a file; its name appears when it is complete', notEmpty)
    .addHelpText('after', EXAMPLE)
    .action(async (_options, command) =>
      (await import('./support.ts')).support(command.optsWithGlobals(), program),
    );
}

const EXAMPLE = `
Example:
  sudo courtd support -o support.txt`;
