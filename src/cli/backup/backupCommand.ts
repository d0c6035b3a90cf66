import type { Command } from 'commander';
import { BACKUPS_KEPT, BACKUPS_KEPT_MAX } from '../../base/limits.ts';
import { integer, json, notEmpty } from '../options/optionParsers.ts';

export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the database, as it is at one moment, while the daemon takes events')
    .argument(
      '<place>',
      'a directory, which keeps the newest backups, or a new file that ends in .db',
      notEmpty,
    )
    .option(
      '--keep <number>',
      'how many backups the directory keeps',
      integer(1, BACKUPS_KEPT_MAX),
      BACKUPS_KEPT,
    )
    .addOption(json())
    .addHelpText(
      'after',
      '\nExamples:\n  sudo courtd backup /mnt/usb/\n  sudo courtd backup before-the-final.db',
    )
    .action(async (place, _options, command) =>
      (await import('./backup.ts')).backup(place, command.optsWithGlobals()),
    );
}
