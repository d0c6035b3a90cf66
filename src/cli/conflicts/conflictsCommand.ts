import type { Command } from 'commander';
import { json } from '../options/optionParsers.ts';

const HELP = `
The first version of an event stays stored. It comes again with different
content where a camera does not raise its revision, or where two cameras use
the same event_id. What came last is kept for the newest 1,000 conflicts, to
compare.

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
