import type { Command } from 'commander';
import { json, notEmpty } from '../options/optionParsers.ts';

const HELP = `
The new database has every event of the log, under its seq and with its time of
receipt; the tokens come with a copy. A log does not have what was counted or
kept beside the events: duplicates, conflicts, refused requests, and when a
token was last used. What a prune had deleted after it was copied is back until
the next prune.

Lines do not say what is missing between them: compare the last seq with what
"courtd fleet status" says.

Examples:
  sudo courtd rebuild /media/copy/venue-7
  courtd fleet tail nats://hq-1 --box venue-7 --after 0 | sudo courtd rebuild -`;

export function addRebuild(program: Command): void {
  program
    .command('rebuild')
    .description('make the database of a lost box from the copy of its log, in a directory that has none')
    .argument(
      '<source...>',
      'the copy of a box, or files of it; - is lines of "tail --json" or "fleet tail" on standard input',
      (source: string, sources: string[] = []) => [...sources, notEmpty(source)],
    )
    .option('--allow-holes', 'go on where a part of the log is missing or damaged')
    .addOption(json())
    .addHelpText('after', HELP)
    .action(async (sources, _options, command) =>
      (await import('./rebuild.ts')).rebuild(sources, command.optsWithGlobals()),
    );
}
