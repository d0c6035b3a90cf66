import type { Command } from 'commander';
import { counted, isoTime } from '../../base/units.ts';
import { shellWord } from '../../base/visibleText.ts';
import { logLines } from '../../fleet/log/logLines.ts';
import type { DataOption } from '../../store/db/openDatabase.ts';
import { type Restored, restoreDatabase } from '../../store/keep/restoreDatabase.ts';
import type { Salvaged } from '../../store/keep/salvage.ts';
import { notEmpty } from '../options/optionParsers.ts';
import { say } from '../terminal/output.ts';

const HELP = `
Stop the daemon first. The replaced database is kept under another name.

Examples:
  sudo systemctl stop courtd.socket courtd.service
  sudo courtd restore /mnt/usb/courtd-20260314T031500Z.db
  courtd fleet tail nats://hq-1 --box venue-7 | sudo courtd restore -

Lines have no tokens and no list of erased players. Make a token with
"courtd token rotate", and erase again each player who had been erased.`;

export function define(command: Command): void {
  command
    .argument('<file>', 'a backup or a copy; "-" reads the lines of "courtd fleet tail"', notEmpty)
    .option('--salvage', 'also add the events that only the replaced database has')
    .addHelpText('after', HELP)
    .action((file, _options, command) => restore(file, command.optsWithGlobals()));
}

/** The exit status is 1 if the restore is incomplete: an event of the backup, or of a salvaged database, is damaged. */
async function restore(file: string, options: DataOption & { readonly salvage?: boolean }): Promise<void> {
  const from = file === '-' ? logLines(process.stdin) : file;
  const name = typeof from === 'string' ? from : from.name;
  const restored = await restoreDatabase(options.data, from, options.salvage, (name) =>
    say(`The replaced database is kept as ${name}: remove it when it is no longer needed.`),
  );
  const { damage, salvaged } = restored;
  const isShort = salvaged !== null && salvaged.unreadable + salvaged.unreadableDatabases > 0;
  if (damage !== undefined || isShort) process.exitCode = 1;
  sentencesOf(restored, file, name).forEach(say);
}

/** @param name the restored file, or "the lines". */
function sentencesOf(restored: Restored, file: string, name: string): string[] {
  const { events, sessions, newestMs, damage, salvaged } = restored;
  const newest = newestMs === null ? '' : `, the newest received at ${isoTime(newestMs)}`;
  return [
    `Restored ${name}: ${counted(events, 'event')} of ${counted(sessions, 'session')}${newest}.`,
    damage,
    restored.isLedgerLost && LEDGER_LOST,
    name === file
      ? 'The tokens are those of the backup: "courtd token list" shows them.'
      : 'Lines have no tokens. Make one with "courtd token rotate", and give it to every camera.',
    salvaged && salvagedSentence(salvaged),
    restored.canSalvage &&
      `Add the events that only the replaced database has with "sudo courtd restore ${shellWord(file)} --salvage".`,
  ].filter((sentence) => typeof sentence === 'string');
}

const LEDGER_LOST =
  'The data directory has no list of erased players that can be read. Erase again each player who was erased after the backup: "courtd player erase ID".';

function salvagedSentence({ accepted, unreadable, unreadableDatabases }: Salvaged): string {
  const lost = unreadable === 0 ? '' : ` Up to ${counted(unreadable, 'event')} could not be read.`;
  const databases = counted(unreadableDatabases, 'replaced database');
  const none = unreadableDatabases === 0 ? '' : ` Nothing could be read in ${databases}.`;
  return `Salvaged ${counted(accepted, 'event')} that the backup does not have.${lost}${none}`;
}
