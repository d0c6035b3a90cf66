import { OperatorError, reasonOf, UsageError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { copiesIn } from '../../fleet/copy/copyFiles.ts';
import { type FleetOptions, withHeadquarters } from '../../fleet/headquarters/connection.ts';
import { type Imported, importCopy } from '../../fleet/headquarters/importCopy.ts';
import { parseServers } from '../../fleet/nats/address.ts';
import { type JsonOption, Progress, printJson, printText } from '../terminal/output.ts';

interface ImportOptions extends FleetOptions, JsonOption {
  readonly allowHoles?: boolean;
}

/** `courtd fleet import`: one copy after the other. @param places directories, and behind them the URL of headquarters. */
export async function importCopies(places: readonly string[], options: ImportOptions): Promise<void> {
  const { json, allowHoles = false } = options;
  const [directories, url] = [places.slice(0, -1), places.at(-1)!];
  if (directories.length === 0)
    throw new UsageError('Give the copies, and behind them the URL of NATS servers.');
  parseServers(url);
  const copies = (await Promise.all(directories.map(copiesIn))).flat();
  const progress = new Progress();
  const all: Imported[] = [];
  await withHeadquarters(url, options, async (nc) => {
    for (const copy of copies) {
      const { box } = copy.box;
      const imported = { box, events: 0, chunks: 0, there: 0, lastSeq: 0, holes: 0, leftOut: 0 };
      const onEvents = (events: number) => progress.show(() => `${box}: ${counted(events, 'event')} read`);
      const onMissing = (sentence: string) => progress.say(`courtd: ${sentence}`);
      try {
        await importCopy(nc, copy, imported, { allowHoles, onEvents, onMissing });
      } catch (error) {
        if (imported.events > 0) onMissing(`${sentenceOf(imported)} Done again it goes on behind that.`);
        const { syscall, path: file } = error as NodeJS.ErrnoException;
        throw syscall === undefined
          ? error
          : new OperatorError(`Cannot read ${file ?? 'the copy'}: ${reasonOf(error as Error)}.`);
      } finally {
        progress.clear();
      }
      all.push(imported);
      if (!json) printText(`${sentenceOf(imported)}\n`);
    }
  });
  if (json) printJson(all.map(objectOf));
}

function sentenceOf({ box, events, chunks, there, lastSeq, holes, leftOut }: Imported): string {
  const rest = [
    there > 0 ? `${counted(there, 'event')} were there` : '',
    holes > 0 ? `missing in ${counted(holes, 'place')}` : '',
    leftOut > 0 ? `${counted(leftOut, 'event')} left out` : '',
  ].filter(Boolean);
  const carried = `${counted(events, 'event')} carried in ${counted(chunks, 'chunk')}`;
  return `${box}: ${[`${carried}, up to seq ${lastSeq}`, ...rest].join('; ')}.`;
}

function objectOf({ lastSeq, leftOut, ...rest }: Imported): object {
  return { ...rest, last_seq: lastSeq, left_out: leftOut };
}
