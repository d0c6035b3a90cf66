import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { BACKUPS_KEPT } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { bytesFor, counted } from '../../base/units.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { copyReport } from '../../fleet/report/copyReport.ts';
import { runDirectory } from '../../fleet/report/reportFile.ts';
import type { DataOption } from '../../store/db/openDatabase.ts';
import { CopyFollower, ForeignCopy } from '../../store/keep/follow.ts';
import { lastBackup, noteBackup } from '../../store/keep/lastBackup.ts';
import { makeBackup } from '../../store/keep/makeBackup.ts';
import { integer, notEmpty } from '../options/optionParsers.ts';
import { say } from '../terminal/output.ts';

const HELP = `
A directory keeps the newest backups. With --follow it has one copy, courtd.db,
which "courtd restore" takes like a backup.

Examples:
  sudo courtd backup /mnt/usb/
  sudo courtd backup before-the-final.db
  sudo courtd backup /media/copy/ --follow`;

export function define(command: Command): void {
  command
    .argument('<place>', 'a directory, or a new file that ends in .db', notEmpty)
    .option('--keep <number>', 'how many backups the directory keeps', integer(1), BACKUPS_KEPT)
    .option('--follow', 'keep a copy current, until Ctrl-C')
    .addHelpText('after', HELP)
    .action((place, { follow }, command) => {
      const keeps = command.getOptionValueSource('keep') === 'cli';
      if (follow && (keeps || place.endsWith('.db')))
        command.error('error: --follow takes a directory, and no --keep.', { exitCode: 2 });
      yieldToIngest();
      return follow ? followTo(place, command.optsWithGlobals()) : backup(place, command.optsWithGlobals());
    });
}

async function backup(place: string, { data, keep }: DataOption & { readonly keep: number }): Promise<void> {
  const startedAt = performance.now();
  const { file, bytes, events, damage } = await makeBackup(data, place, keep);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  say(`Backup written to ${file}: ${bytesFor(bytes)}, ${counted(events, 'event')}, in ${seconds} s.`);
  if (damage === undefined) return;
  throw new OperatorError(
    `The backup has all that can be read, but the database is damaged: ${damage} No older backup was removed. Keep one from before the damage.`,
  );
}

/** Between two looks at the box. */
const FOLLOW_MS = 2_000;

/** Until a signal ends it, anywhere: the copy is a database. @throws {ForeignCopy} */
async function followTo(place: string, { data }: DataOption): Promise<void> {
  const directory = path.resolve(place);
  if (directory === path.resolve(data.path))
    throw new OperatorError(`${place} has the database itself. Name a directory on another disk.`);
  const runDir = runDirectory(process.env, data.path);
  const before = copyReport.read(runDir);
  const { epoch = null, seq = null, last_at = null } = before?.place === directory ? before : {};
  let report = { place: directory, epoch, seq, last_at, error: null as string | null };
  let told: string | null = '';
  const note = (changes: Partial<typeof report>) => {
    report = { ...report, ...changes };
    copyReport.write(runDir, report);
  };
  const tell = (changes: Partial<typeof report>) => {
    note(changes);
    if (report.error === told) return;
    told = report.error;
    say(`courtd: ${told ?? `The copy in ${directory} is current, up to seq ${report.seq}.`}`);
  };
  note({});
  // Without a runtime directory nothing else names this place to the receipt of an erasure.
  if (runDir === undefined) noteBackup(data, lastBackup(data).ms, directory);
  const follower = new CopyFollower(data, directory);
  for (;;) {
    try {
      await follower.round((state) => note({ ...state, error: null }));
      tell({ last_at: new Date().toISOString(), error: null });
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      tell({ error: error.message });
      if (error instanceof ForeignCopy) throw error;
    }
    await sleep(FOLLOW_MS);
  }
}
