import { type Command, Option } from 'commander';
import { notEmpty } from '../options/optionParsers.ts';

/** `courtd support`. */
export function addSupport(program: Command): void {
  program
    .command('support')
    .description(
      'write one text file for whoever helps: versions, settings, checks, counts, the log; no token, no payload',
    )
    .addOption(
      new Option('-o, --output <file>', 'write to a file; its name appears when it is complete').argParser(
        notEmpty,
      ),
    )
    .addHelpText('after', EXAMPLE)
    .action(async (_options, command) =>
      (await import('./support.ts')).support(command.optsWithGlobals(), program),
    );
}

const EXAMPLE = `
Example:
  $ sudo courtd support -o support.txt
`;
