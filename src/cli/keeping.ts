import { type Command, Option } from 'commander';
import { BACKUPS_KEPT, BACKUPS_KEPT_MAX } from '../protocol/limits.ts';
import { integer, json, notEmpty } from './arguments.ts';

/** The commands that keep the data: backup, restore, prune. */
export function addKeeping(program: Command): void {
  program
    .command('backup')
    .description('copy the database, as it is at one moment, beside a daemon that takes events')
    .argument('<place>', 'a new file, or a directory, which keeps the newest ones', notEmpty)
    .addOption(
      new Option('--keep <number>', 'how many backups the directory keeps')
        .default(BACKUPS_KEPT)
        .argParser(integer(1, BACKUPS_KEPT_MAX)),
    )
    .addOption(json())
    .action(async (place, _options, command) =>
      (await import('./backup.ts')).backup(place, command.optsWithGlobals()),
    );
}
