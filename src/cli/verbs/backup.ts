import path from 'node:path';
import type { Command } from 'commander';
import { BACKUPS_KEPT, BACKUPS_KEPT_MAX } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { bytesFor, counted, isoTime } from '../../base/units.ts';
import type { DataOption } from '../../store/open/withDatabase.ts';
import { integer, json, notEmpty } from '../options/optionParsers.ts';
import { type JsonOption, Progress, printJson, say } from '../terminal/output.ts';

export function define(command: Command): void {
  command
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
    .action((place, _options, command) => backup(place, command.optsWithGlobals()));
}

interface BackupOptions extends DataOption, JsonOption {
  readonly keep: number;
}

async function backup(place: string, { data, keep, json }: BackupOptions): Promise<void> {
  const { yieldToIngest } = await import('../../base/yieldToIngest.ts');
  yieldToIngest();
  const { makeBackup } = await import('../../store/backup/makeBackup.ts');
  const startedAt = performance.now();
  const progress = new Progress();
  const made = await makeBackup(data, place, keep, (bytes) =>
    progress.show(() => `${bytesFor(bytes)} copied`),
  ).finally(() => progress.clear());
  const { file, bytes, events, sessions, newestMs, removed, damage } = made;
  const seconds = Math.round(performance.now() - startedAt) / 1000;
  if (json) {
    const newest_received_at = isoTime(newestMs);
    printJson({
      path: path.resolve(file),
      bytes,
      events,
      sessions,
      newest_received_at,
      seconds,
      removed,
    });
  } else {
    const what = `${bytesFor(bytes)}, ${counted(events, 'event')}, in ${seconds.toFixed(1)} s`;
    say(`Backup written to ${file}: ${what}.`);
    if (removed.length > 0) say(`Removed to keep ${counted(keep, 'backup')}: ${removed.join(', ')}.`);
  }
  if (damage === undefined) return;
  throw new OperatorError(
    `The backup has all that can be read, but the database is damaged: ${damage} No older backup was removed: keep one from before the damage.`,
  );
}
