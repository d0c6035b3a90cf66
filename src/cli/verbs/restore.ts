import fs from 'node:fs';
import type { Command } from 'commander';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { counted, isoTime } from '../../base/units.ts';
import { shellWord } from '../../base/visibleText.ts';
import { ReplacedDatabase } from '../../store/backup/replacedDatabase.ts';
import { type Restored, restoreDatabase } from '../../store/backup/restore.ts';
import type { DataOption } from '../../store/open/withDatabase.ts';
import { type Salvaged, salvage } from '../../store/salvage.ts';
import { json, notEmpty } from '../options/optionParsers.ts';
import { type JsonOption, Progress, printJson, say } from '../terminal/output.ts';

export function define(command: Command): void {
  command
    .description('replace the database with a backup and keep the old one; the daemon must be stopped')
    .argument('<file>', 'the backup; it is not changed', notEmpty)
    .option(
      '--salvage',
      'then import what can still be read in the database that was replaced, and is not in the backup',
    )
    .addOption(json())
    .addHelpText('after', '\nExample:\n  sudo courtd restore /mnt/usb/courtd-20260314T031500Z.db')
    .action((file, _options, command) => restore(file, command.optsWithGlobals()));
}

interface RestoreOptions extends DataOption, JsonOption {
  readonly salvage?: boolean;
}

async function restore(file: string, options: RestoreOptions): Promise<void> {
  // It becomes the owner of the data directory, who may not read beside the backup.
  const sudo = process.getuid?.() === 0 ? 'sudo ' : '';
  const restored = await restoreDatabase(options.data, file);
  const { events, sessions, newestMs, previousDatabase } = restored;
  const newest_received_at = isoTime(newestMs);
  const newest = newest_received_at === null ? '' : `, the newest received at ${newest_received_at}`;
  const tell = options.json ? () => {} : say;
  tell(`Restored ${file}: ${counted(events, 'event')} of ${counted(sessions, 'session')}${newest}.`);
  if (restored.damage !== undefined) tell(restored.damage);
  if (restored.erasedAgain > 0)
    tell(
      `Players who were erased after that backup were taken out of ${counted(restored.erasedAgain, 'event')} again.`,
    );
  if (restored.ledgerLost !== undefined) tell(LEDGER_LOST[restored.ledgerLost]);
  tell('The tokens are those of the backup: "courtd token list" shows them.');
  let salvaged: Salvaged | null = null;
  if (previousDatabase !== null) {
    if (options.salvage) salvaged = await salvageFrom(previousDatabase, restored, options.data, tell);
    else if (!options.json) await adviseSalvage(previousDatabase, restored, options.data, sudo);
    tell(`The replaced database is kept as ${previousDatabase}: remove it when it is no longer needed.`);
  }
  if (!options.json) return;
  printJson({
    restored: file,
    events,
    sessions,
    newest_received_at,
    replaced_kept_as: previousDatabase,
    salvaged,
    erased_again: restored.erasedAgain,
    ledger_lost: restored.ledgerLost !== undefined,
  });
}

const ERASE_AGAIN = 'whoever was erased after that backup has to be erased again ("courtd player erase").';
const LEDGER_LOST = {
  unreadable: `The replaced database cannot tell who was erased: ${ERASE_AGAIN}`,
  missing: `There was no database here that knows who was erased: ${ERASE_AGAIN}`,
} as const;

/** @returns null where nothing of it can be read. @throws {OperatorError} where what is read cannot be stored. */
async function salvageFrom(
  file: string,
  restored: Restored,
  data: DataDirectory,
  tell: (sentence: string) => void,
): Promise<Salvaged | null> {
  const progress = new Progress();
  const salvaged = { events: 0, accepted: 0, duplicates: 0, conflicts: 0, unreadable: 0 };
  const told = (events: number) => progress.show(() => `${counted(events, 'event')} salvaged`);
  const failed = (why: string) => say(`courtd: ${why} What was restored stays.`);
  let isReadable = true;
  try {
    isReadable = await salvage(file, restored, data, salvaged, told, failed);
    return isReadable ? salvaged : null;
  } finally {
    progress.clear();
    tell(isReadable ? sentenceOf(salvaged) : NOT_READABLE);
  }
}

const NOT_READABLE = 'Nothing can be read in the replaced database, so nothing was salvaged.';

function sentenceOf({ events, accepted, duplicates, conflicts, unreadable }: Salvaged): string {
  const note = conflicts === 0 ? '' : ` (${conflicts} with different content than what is stored)`;
  const lost = unreadable === 0 ? '' : ` Up to ${counted(unreadable, 'event')} could not be read.`;
  return (
    `Salvaged from the replaced database: ${counted(events, 'event')} that the backup does not have: ${accepted} accepted, ` +
    `${counted(duplicates, 'duplicate')}${note}.${lost}`
  );
}

/** What --salvage does, step by step. */
async function adviseSalvage(
  file: string,
  restored: Restored,
  data: DataDirectory,
  sudo: string,
): Promise<void> {
  const replaced = ReplacedDatabase.open(file, restored);
  if (replaced === undefined) return;
  try {
    if (replaced.arrivals().next().done) return;
    const aside = data.at('salvage');
    say(
      'The replaced database holds events that this backup does not have. "--salvage" would have imported them; by hand:',
    );
    say(`  ${sudo}mkdir ${shellWord(aside)}`);
    for (const part of ['', '-wal'].filter((part) => fs.existsSync(file + part)))
      say(
        `  ${sudo}cp -a ${shellWord(file + part)} ${shellWord(new DataDirectory(aside).file('database') + part)}`,
      );
    say(`  ${sudo}systemctl start courtd`);
    say(
      `  ${sudo}courtd tail --json --after ${replaced.after} --data ${shellWord(aside)} | ${sudo}courtd import - --data ${shellWord(data.path)}`,
    );
    say(
      'Where a page is damaged, "courtd export SESSION --format ndjson" of each session gives what follows it.',
    );
  } finally {
    replaced.close();
  }
}
