import type { Command } from 'commander';
import { json } from '../options/optionParsers.ts';

const HELP = `
The first version of an event is the one that is kept. One that was sent again with different content was
sent by a camera that did not raise its revision, or by another camera with the same event_id.
Of the newest 1,000 the last other version is kept.

Examples:
  courtd conflicts match-17
  courtd conflicts --json | jq -r '.[] | "\\(.source) \\(.times)"'`;

export function addConflicts(program: Command): void {
  program
    .command('conflicts')
    .description(
      'show events that were sent again with different content: the stored version beside the latest one',
    )
    .argument('[session]', 'only those of this session_id')
    .addOption(json())
    .addHelpText('after', HELP)
    .action(async (session, _options, command) =>
      (await import('./conflicts.ts')).conflicts(session, command.optsWithGlobals()),
    );
}
