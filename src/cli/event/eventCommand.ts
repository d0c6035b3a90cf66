import type { Command } from 'commander';
import { json } from '../options/optionParsers.ts';

export function addEvent(program: Command): void {
  const event = program.command('event').description('single events');
  event
    .command('show')
    .description('show every revision of one event')
    .argument('<session>', 'the session_id')
    .argument('<event>', 'the event_id')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  courtd event show match-17 bounce-0042')
    .action(async (session, id, _options, command) =>
      (await import('./event.ts')).show(session, id, command.optsWithGlobals()),
    );
}
