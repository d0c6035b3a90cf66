import type { Command } from 'commander';
import { counted, isoTime } from '../../base/units.ts';
import { shellWord } from '../../base/visibleText.ts';
import { withDatabaseOfLines } from '../../fleet/log/restoredLines.ts';
import { restoreDatabase } from '../../store/backup/restore.ts';
import type { Salvaged } from '../../store/backup/salvage.ts';
import type { DataOption } from '../../store/open/withDatabase.ts';
import { json, notEmpty } from '../options/optionParsers.ts';
import { type JsonOption, Progress, printJson, say } from '../terminal/output.ts';

const HELP = `
Examples:
  sudo courtd restore /mnt/usb/courtd-20260314T031500Z.db
  sudo courtd restore /media/copy/courtd.db
  courtd fleet tail nats://hq-1 --box venue-7 | sudo courtd restore -

Lines have neither tokens nor the list of erased players: make a token with
"courtd token rotate", and erase again who had been erased.`;

export function define(command: Command): void {
  command
    .description('replace the database with a backup and keep the old one; the daemon must be stopped')
    .argument(
      '<file>',
      'the backup or the copy; it is not changed. - is lines of "fleet tail" on standard input',
      notEmpty,
    )
    .option(
      '--salvage',
      'also add what can be read in the database that is replaced, and is not in the backup',
    )
    .addOption(json())
    .addHelpText('after', HELP)
    .action((file, _options, command) => {
      const options: RestoreOptions = command.optsWithGlobals();
      if (file !== '-') return restore(file, options);
      return withDatabaseOfLines(options.data, (made) => restore(made, options, 'the lines'));
    });
}

interface RestoreOptions extends DataOption, JsonOption {
  readonly salvage?: boolean;
}

/** The exit status is 1 if the restore is incomplete: an event of the backup, or of a salvaged database, is damaged. */
async function restore(file: string, options: RestoreOptions, name = file): Promise<void> {
  const sudo = process.getuid?.() === 0 ? 'sudo ' : '';
  const tell = options.json ? () => {} : say;
  const progress = new Progress();
  const restored = await restoreDatabase(options.data, file, {
    salvages: options.salvage ?? false,
    salvaging: (events) => progress.show(() => `${counted(events, 'event')} salvaged`),
    replacing: (name) => {
      progress.clear();
      say(`The replaced database is kept as ${name}: remove it when it is no longer needed.`);
    },
  }).finally(() => progress.clear());
  const { events, sessions, newestMs, previousDatabase, salvaged } = restored;
  const newest_received_at = isoTime(newestMs);
  const newest = newest_received_at === null ? '' : `, the newest received at ${newest_received_at}`;
  tell(`Restored ${name}: ${counted(events, 'event')} of ${counted(sessions, 'session')}${newest}.`);
  if (restored.damage !== undefined) tell(restored.damage);
  if (restored.erasedAgain > 0)
    tell(
      `Players who were erased after that backup were taken out of ${counted(restored.erasedAgain, 'event')} again.`,
    );
  if (restored.ledgerLost !== undefined) tell(LEDGER_LOST[restored.ledgerLost]);
  tell(
    name === file
      ? 'The tokens are those of the backup: "courtd token list" shows them.'
      : 'Lines have no tokens. Make one with "courtd token rotate", and give it to every camera.',
  );
  if (salvaged !== null) tell(sentenceOf(salvaged));
  if (restored.leavesMore)
    tell(
      `The replaced database has events that this backup does not have. Add them with "${sudo}courtd restore ${shellWord(file)} --salvage".`,
    );
  const isShort = salvaged !== null && salvaged.unreadable + salvaged.unreadableDatabases > 0;
  if (restored.damage !== undefined || isShort) process.exitCode = 1;
  if (!options.json) return;
  printJson({
    restored: name,
    events,
    sessions,
    newest_received_at,
    replaced_kept_as: previousDatabase,
    salvaged: salvaged && jsonOf(salvaged),
    erased_again: restored.erasedAgain,
    ledger_lost: restored.ledgerLost !== undefined,
  });
}

const ERASE_AGAIN = 'whoever was erased after that backup has to be erased again ("courtd player erase").';
const LEDGER_LOST = {
  unreadable: `The replaced database cannot tell who was erased: ${ERASE_AGAIN}`,
  missing: `There was no database here that knows who was erased: ${ERASE_AGAIN}`,
} as const;

function jsonOf({ unreadableDatabases: unreadable_databases, ...counts }: Salvaged): object {
  return { ...counts, unreadable_databases };
}

function sentenceOf(salvaged: Salvaged): string {
  const { events, accepted, duplicates, conflicts, unreadable, unreadableDatabases } = salvaged;
  const note = conflicts === 0 ? '' : ` (${conflicts} with different content than what is stored)`;
  const lost = unreadable === 0 ? '' : ` Up to ${counted(unreadable, 'event')} could not be read.`;
  const none =
    unreadableDatabases === 0
      ? ''
      : ` Nothing could be read in ${counted(unreadableDatabases, 'replaced database')}.`;
  return (
    `Salvaged ${counted(events, 'event')} that the backup does not have: ${accepted} accepted, ` +
    `${counted(duplicates, 'duplicate')}${note}.${lost}${none}`
  );
}
