import { type Command, Option } from 'commander';
import { BACKUPS_KEPT, BACKUPS_KEPT_MAX } from '../base/limits.ts';
import { EVENT_TYPES } from '../protocol/event.ts';
import { integer, json, notEmpty, parsePeriod } from './options/optionParsers.ts';

/** The commands that keep the data: backup, restore, prune. */
export function addKeeping(program: Command): void {
  program
    .command('backup')
    .description('copy the database, as it is at one moment, beside a daemon that takes events')
    .argument('<place>', 'a directory, which keeps the newest ones, or a new file that ends in .db', notEmpty)
    .addOption(
      new Option('--keep <number>', 'how many backups the directory keeps')
        .default(BACKUPS_KEPT)
        .argParser(integer(1, BACKUPS_KEPT_MAX)),
    )
    .addOption(json())
    .action(async (place, _options, command) =>
      (await import('./backup.ts')).backup(place, command.optsWithGlobals()),
    );
  program
    .command('restore')
    .description('put a backup in the place of the database, which is kept aside; the daemon must be stopped')
    .argument('<file>', 'the backup; it stays as it is', notEmpty)
    .addOption(json())
    .action(async (file, _options, command) =>
      (await import('./restore.ts')).restore(file, command.optsWithGlobals()),
    );
  program
    .command('prune')
    .description(
      'delete events by time of receipt, beside a daemon that takes events, and give the space back; with a revision goes what it has replaced',
    )
    .addOption(
      new Option('--older-than <time>', 'events received longer ago than this: a number with s, m, h or d')
        .makeOptionMandatory()
        .argParser(parsePeriod),
    )
    .addOption(new Option('--type <type>', 'only events of this type').choices(EVENT_TYPES))
    .option('--dry-run', 'only say what would be deleted')
    .option(
      '--yes',
      'delete more than half of all events without asking, as the nightly unit does; not within a day after the clock has jumped',
    )
    .addOption(json())
    .action(async (_options, command) => (await import('./prune.ts')).prune(command.optsWithGlobals()));
}
