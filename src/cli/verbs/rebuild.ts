import type { Command } from 'commander';
import { OperatorError, UsageError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { findCopy } from '../../fleet/copy/copyFiles.ts';
import { type RebuiltBox, rebuildBox } from '../../fleet/rebuild/rebuildBox.ts';
import { readUnpacked, UnreadableFile } from '../../session/import/fileBytes.ts';
import type { DataOption } from '../../store/open/withDatabase.ts';
import { json, notEmpty } from '../options/optionParsers.ts';
import { type JsonOption, Progress, printJson, say } from '../terminal/output.ts';

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

export function define(command: Command): void {
  command
    .description('make the database of a lost box from the copy of its log, in a directory that has none')
    .argument(
      '<source...>',
      'the copy of a box, or files of it; - is lines of "tail --json" or "fleet tail" on standard input',
      (source: string, sources: string[] = []) => [...sources, notEmpty(source)],
    )
    .option('--allow-holes', 'go on where a part of the log is missing or damaged')
    .addOption(json())
    .addHelpText('after', HELP)
    .action((sources, _options, command) => rebuild(sources, command.optsWithGlobals()));
}

interface RebuildOptions extends DataOption, JsonOption {
  readonly allowHoles?: boolean;
}

const STDIN = '-';

/** `courtd rebuild SOURCE…` */
async function rebuild(sources: readonly string[], options: RebuildOptions): Promise<void> {
  const { data, allowHoles = false, json } = options;
  if (sources.includes(STDIN) && sources.length > 1)
    throw new UsageError('Give "-" alone, or a copy, or files of one.');
  const source = sources.includes(STDIN) ? standardInput() : await findCopy(sources);
  const progress = new Progress();
  const onEvents = (events: number) => progress.show(() => `${counted(events, 'event')} read`);
  const onMissing = (sentence: string) => progress.say(`courtd: ${sentence}`);
  const rebuilt = await rebuildBox(data, source, { allowHoles, onEvents, onMissing }).finally(() =>
    progress.clear(),
  );
  if (json) printJson(rebuilt);
  else for (const sentence of sentencesOf(rebuilt, data.path)) say(sentence);
}

async function* standardInput(): AsyncGenerator<Buffer> {
  try {
    yield* readUnpacked(STDIN);
  } catch (error) {
    throw error instanceof UnreadableFile ? new OperatorError(`Of standard input, ${error.message}`) : error;
  }
}

function sentencesOf(rebuilt: RebuiltBox, place: string): string[] {
  const { box, events, sessions, begins_after, holes, superseded, taken_back, tokens, follows_epoch } =
    rebuilt;
  const { erasures, erased } = rebuilt;
  const told: [isSo: boolean, sentence: string][] = [
    [
      true,
      `Rebuilt ${box === null ? '' : `the box ${box} `}in ${place}: ${counted(events, 'event')} of ${counted(sessions, 'session')}, ` +
        `seq ${rebuilt.first_seq} to ${rebuilt.last_seq}, the newest received at ${rebuilt.newest_received_at}.`,
    ],
    [
      begins_after > 0,
      `It begins behind seq ${begins_after}: what came before had been pruned, or was not in the source.`,
    ],
    [holes > 0, `Left out: what is missing in ${counted(holes, 'place')}.`],
    [
      taken_back > 0,
      `${counted(taken_back, 'event')} not taken: a restore of the lost box had replaced them.`,
    ],
    [superseded > 0, `${counted(superseded, 'event')} came again after a prune: the later ones are there.`],
    [
      tokens === null,
      'No tokens came with it: make one with "courtd token rotate", and give it to every camera.',
    ],
    [
      tokens !== null,
      'The tokens are those of the lost box, but for their last use: "courtd token list" shows them.',
    ],
    [erased > 0, `${counted(erased, 'event')} from before an erasure: they name nobody any more.`],
    [
      erasures === null,
      'No list of erased players came with it: erase again who had been erased after these lines were written.',
    ],
    [
      !follows_epoch,
      'The lines do not say of which epoch they are: a shipper will ship all of them, also what headquarters has from the lost box.',
    ],
    [
      true,
      'No log has these of the lost box: counts of duplicates and conflicts, the other copies of events in conflict, refused requests.',
    ],
  ];
  return told.flatMap(([isSo, sentence]) => (isSo ? sentence : []));
}
