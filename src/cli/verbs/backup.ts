import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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
    .option('--follow', 'keep a copy current in that directory: courtd.db there, for "courtd restore"')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExamples:\n  sudo courtd backup /mnt/usb/\n  sudo courtd backup before-the-final.db\n  sudo courtd backup /media/copy/ --follow',
    )
    .action((place, _options, command) => {
      const options: BackupOptions = command.optsWithGlobals();
      return options.follow ? follow(place, options) : backup(place, options);
    });
}

interface BackupOptions extends DataOption, JsonOption {
  readonly keep: number;
  readonly follow?: boolean;
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

/** Between two looks at the box. */
const FOLLOW_MS = 2_000;

/** Until a signal ends it, anywhere: the copy is a database. @throws {ForeignCopy} */
async function follow(place: string, { data }: DataOption): Promise<void> {
  const { yieldToIngest } = await import('../../base/yieldToIngest.ts');
  yieldToIngest();
  const { CopyFollower, ForeignCopy } = await import('../../store/backup/follow.ts');
  const { runDirectory } = await import('../../fleet/report/reportFile.ts');
  const { readCopyReport, writeCopyReport } = await import('../../fleet/report/copyReport.ts');
  const directory = path.resolve(place);
  if (directory === path.resolve(data.path))
    throw new OperatorError(`${place} has the database itself. Name a directory on another disk.`);
  const runDir = runDirectory(process.env, data.path);
  const before = readCopyReport(process.env, data.path);
  const { epoch, seq, last_at } =
    before?.place === directory ? before : { epoch: null, seq: null, last_at: null };
  let report = { place: directory, epoch, seq, last_at, error: null as string | null };
  let told: string | null = '';
  const tell = (changes: Partial<typeof report>, isEnd = true) => {
    report = { ...report, ...changes };
    writeCopyReport(runDir, report);
    if (!isEnd || report.error === told) return;
    told = report.error;
    say(`courtd: ${told ?? `The copy in ${directory} is current, up to seq ${report.seq}.`}`);
  };
  tell({}, false);
  const follower = new CopyFollower(data, directory);
  for (;;) {
    try {
      await follower.round((state) => tell({ ...state, error: null }, false));
      tell({ last_at: new Date().toISOString(), error: null });
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      tell({ error: error.message });
      if (error instanceof ForeignCopy) throw error;
    }
    await sleep(FOLLOW_MS);
  }
}
