import type { Command } from 'commander';
import { REJECTIONS_LISTED } from '../../base/limits.ts';
import { integer, json } from '../options/optionParsers.ts';

const HELP = `
At most 1,000 are kept, also over a restart. A flood of one kind pushes out
only older ones of its kind.

Examples:
  courtd rejections                       the newest ${REJECTIONS_LISTED}, newest first
  courtd rejections show 8f1c2d3e-4b5a    one of them, with its body
  courtd rejections --last 1000 --json | jq -r '.[].error'`;

const SHOW_HELP = `
The first 16 KiB of a body are kept. Without a valid token a body is never
read.

Example:
  courtd rejections show 8f1c2d3e-4b5a`;

export function addRejections(program: Command): void {
  const rejections = program
    .command('rejections')
    .description('show the last refused requests, newest first: when, from which camera, and why')
    .option(
      '--last <n>',
      'how many to show; a number larger than there are shows all',
      integer(1, Number.MAX_SAFE_INTEGER),
      REJECTIONS_LISTED,
    )
    .addOption(json())
    .addHelpText('after', HELP)
    .action(async (_options, command) => (await import('./rejections.ts')).list(command.optsWithGlobals()));
  rejections
    .command('show')
    .description('show one refused request, with its body as received')
    .argument('<id>', 'the id that "courtd rejections" shows: the request_id in the answer to the client')
    .addOption(json())
    .addHelpText('after', SHOW_HELP)
    .action(async (id, _options, command) =>
      (await import('./rejections.ts')).show(id, command.optsWithGlobals()),
    );
}
