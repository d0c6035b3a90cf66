import type { Command } from 'commander';
import { json, notEmpty } from '../options/optionParsers.ts';

export function addRestore(program: Command): void {
  program
    .command('restore')
    .description('replace the database with a backup and keep the old one; the daemon must be stopped')
    .argument('<file>', 'the backup; it is not changed', notEmpty)
    .option(
      '--salvage',
      'then import what can still be read in the database that was replaced, and is not in the backup',
    )
    .addOption(json())
    .addHelpText('after', '\nExample:\n  sudo courtd restore /mnt/usb/courtd-20260314T031500Z.db')
    .action(async (file, _options, command) =>
      (await import('./restore.ts')).restore(file, command.optsWithGlobals()),
    );
}
