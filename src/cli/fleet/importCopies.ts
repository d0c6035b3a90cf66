import fs from 'node:fs/promises';
import path from 'node:path';
import { OperatorError, reasonOf, UsageError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { readBoxFile } from '../../fleet/copy/boxFile.ts';
import { findCopy } from '../../fleet/copy/copyFiles.ts';
import { type FleetOptions, withHeadquarters } from '../../fleet/headquarters/connection.ts';
import { type Imported, importCopy, type OwnedCopy } from '../../fleet/headquarters/importCopy.ts';
import { parseServers } from '../../fleet/nats/address.ts';
import { type JsonOption, Progress, printJson, printText, say } from '../terminal/output.ts';

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
      const onMissing = (sentence: string) => {
        progress.clear();
        say(`courtd: ${sentence}`);
      };
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

/** @returns the copies of boxes in a directory: itself, or what is in it. */
async function copiesIn(directory: string): Promise<OwnedCopy[]> {
  const entries = await fs.readdir(directory, { withFileTypes: true }).catch((error) => {
    throw new OperatorError(`Cannot read ${directory}: ${reasonOf(error)}.`);
  });
  const inside = entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(directory, name));
  const found: OwnedCopy[] = [];
  for (const folder of [directory, ...inside.sort()]) {
    // What is wrong with one, findCopy says.
    if (
      await readBoxFile(folder).then(
        (box) => box === undefined,
        () => false,
      )
    )
      continue;
    const { epochs, box } = await findCopy([folder]);
    if (box !== undefined) found.push({ epochs, box });
  }
  if (found.length > 0) return found;
  throw new OperatorError(
    `${directory} has no copy of a box: give the folder of one, which has a box.json, or the folder of all of them.`,
  );
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
