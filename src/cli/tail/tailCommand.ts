import { type Command, Option } from 'commander';
import { EVENT_TYPES } from '../../protocol/eventTypes.ts';
import { integer, json } from '../options/optionParsers.ts';
import { addOrder, refuseMisorder } from '../options/orderOptions.ts';

const HELP = `
Each event has a seq, its number in the order of arrival. Some numbers are
missing: those of events that were received again.

With --order eot and --follow, an event leaves when the window has passed since
it arrived, and what happened before it leaves with it. One that comes behind
what has left already leaves at once, marked as late.

Examples:
  courtd tail --follow --court court-2
  courtd tail --follow --order eot --window 2s
  courtd tail --json --follow --after 123456 >> events.ndjson`;

export function addTail(program: Command): void {
  const command = program
    .command('tail')
    .description(
      'show events in the order in which they arrived, or happened: the newest 10, or every one after a seq',
    )
    .option('--follow', 'go on with those that come, until it is ended; also while the daemon restarts')
    .option(
      '--after <seq>',
      'every event that came after this one; 0: all that are stored',
      integer(0, Number.MAX_SAFE_INTEGER),
    )
    .option('--session <id>', 'only events of this session_id')
    .addOption(new Option('--type <type>', 'only events of this type').choices(EVENT_TYPES))
    .option('--court <id>', 'only events of this court_id')
    .option('--source <name>', 'only events of this source');
  addOrder(command)
    .addOption(json())
    .addHelpText('after', HELP)
    .action(async (_options, command) => {
      refuseMisorder(command);
      await (await import('./tail.ts')).tail(command.optsWithGlobals());
    });
}
