import { type Command, Option } from 'commander';
import { EVENT_TYPES } from '../../protocol/eventTypes.ts';
import { json, option, parseDuration, parsePeriod } from '../options/optionParsers.ts';

const SHIP_HOLD_S = 30 * 86_400;

const HELP = `
With the events go conflict copies, as old as the copy; rejections and their
bodies, as old as the refusal; and old databases, as old as the restore that
replaced them (courtd.db.replaced-*) or the copy that an upgrade made
(courtd.db.layout-*).
With --type only conflict copies of that type: the others hold every type.

Examples:
  courtd prune --older-than 90d --dry-run
  sudo courtd prune --older-than 30d --type PLAYER_POSITION`;

export function addPrune(program: Command): void {
  program
    .command('prune')
    .description(
      'delete events by time of receipt, while the daemon takes events, and give the space back to the file system; deleting a revision also deletes the lower ones that it replaced; what else holds events of that age goes with them',
    )
    .addOption(
      new Option('--older-than <time>', 'events received longer ago than this: a number with s, m, h or d')
        .makeOptionMandatory()
        .argParser(parsePeriod),
    )
    .addOption(new Option('--type <type>', 'only events of this type').choices(EVENT_TYPES))
    .addOption(
      option('--ship-hold <time>', 'how long to keep events that have not been shipped yet')
        .default(SHIP_HOLD_S, '30d')
        .argParser(parseDuration),
    )
    .option('--dry-run', 'only report what would be deleted')
    .option(
      '--yes',
      'delete more than half of all events without asking, as the nightly unit does; refused for a day after the clock has jumped',
    )
    .addOption(json())
    .addHelpText('after', HELP)
    .action(async (_options, command) => (await import('./prune.ts')).prune(command.optsWithGlobals()));
}
