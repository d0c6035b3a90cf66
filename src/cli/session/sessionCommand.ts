import type { Command } from 'commander';
import { integer, json } from '../options/optionParsers.ts';

export function addSession(program: Command): void {
  const session = program.command('session').description('the stored sessions');
  session
    .command('list')
    .description('show every session, newest first, by when the first event was received')
    .option('--last <n>', 'only the newest n', integer(1, 1_000_000_000))
    .addOption(json())
    .addHelpText(
      'after',
      `\nExamples:\n  courtd session list --last 10\n  courtd session list --json | jq -r '.[].session_id'`,
    )
    .action(async (_options, command) => (await import('./session.ts')).list(command.optsWithGlobals()));
  session
    .command('show')
    .description('show one session: events by type and court, revisions, duplicates, conflicts, lateness')
    .argument('<session>', 'the session_id')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  courtd session show match-17')
    .action(async (name, _options, command) =>
      (await import('./session.ts')).show(name, command.optsWithGlobals()),
    );
}
