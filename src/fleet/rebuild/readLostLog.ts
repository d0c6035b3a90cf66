import { OperatorError, reasonOf } from '../../base/operatorError.ts';
import { BOX_FILE } from '../copy/boxFile.ts';
import type { Copy } from '../copy/copyFiles.ts';
import { readEpoch } from '../copy/readCopy.ts';
import { LineFault, splitLines } from '../log/logLines.ts';
import type { LostLog } from './lostLog.ts';

/** Adds the log of a copy. @param onTorn as for `readEpoch`, and for an epoch that is left out. @throws {OperatorError} */
export async function addCopy(
  { epochs }: Copy,
  log: LostLog,
  onTorn: (sentence: string) => void,
): Promise<void> {
  for (const epoch of epochs) {
    const { name, files, upTo } = epoch;
    const begins = files[0]!.after;
    if (upTo <= begins) {
      onTorn(
        `The epoch ${name} is left out: by ${BOX_FILE}, a backup that was restored has replaced all of it.`,
      );
      continue;
    }
    log.beginBehind(begins);
    try {
      for await (const { lines, hole, after } of readEpoch(epoch, onTorn)) {
        const place = (index: number) => `Of the epoch ${name}, line ${index + 1} behind seq ${after}`;
        await log.add({ lines, place, epoch: { name, after: begins }, hole });
      }
    } catch (error) {
      const failure = error as NodeJS.ErrnoException;
      // SQLite's have none.
      if (failure.errno === undefined) throw error;
      throw new OperatorError(`Cannot read ${failure.path ?? `the epoch ${name}`}: ${reasonOf(failure)}.`);
    }
  }
  // By epochs of which there is nothing yet.
  await log.cutAfter(epochs.at(-1)?.upTo ?? 0);
}

/**
 * Adds lines of `tail --json` or `fleet tail`. They do not say what came before them, and their seqs jump wherever an event came again
 * or was pruned: what is missing between two of them cannot be told.
 * @param pieces of a text. @throws {OperatorError} with the number of a line, from 1 on.
 */
export async function addLines(
  pieces: AsyncIterable<Buffer>,
  log: LostLog,
  onTorn: (sentence: string) => void,
): Promise<void> {
  let read = 0;
  const place = (index: number) => `Line ${read + index + 1}`;
  const torn = () => onTorn(`${place(0)} has no end: it was cut off, and is left out.`);
  try {
    for await (const lines of splitLines(pieces, torn)) {
      await log.add({ lines, place });
      read += lines.length;
    }
  } catch (error) {
    if (error instanceof LineFault) throw new OperatorError(`${place(error.index)} ${error.message}.`);
    throw error;
  }
}
