import { createPartial, partialNameOf, removeLeftovers, removePartial } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import { databaseOfLog, type LoggedEvent } from '../../store/backup/databaseOfLog.ts';
import { decodeLines, LineFault, splitLines } from './logLines.ts';

/** What the database of lines is called before it is restored. */
const NAME = 'courtd.lines';

/**
 * Makes a database of lines of `fleet tail` or `tail --json` on standard input, for as long as `work` lasts.
 * @param work is given its file. @throws {OperatorError}
 */
export async function withDatabaseOfLines(
  directory: DataDirectory,
  work: (file: string) => Promise<void>,
): Promise<void> {
  const target = directory.at(NAME);
  directory.make();
  removeLeftovers(directory.path, (name) => name === NAME);
  const file = createPartial(target);
  const cleanUp = () => removePartial(partialNameOf(target));
  const cancelCleanup = cleanUpOnExit(cleanUp);
  try {
    await databaseOfLog(file, eventsOf(process.stdin));
    await work(file);
  } finally {
    cancelCleanup();
    cleanUp();
  }
}

async function* eventsOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<readonly LoggedEvent[]> {
  let read = 0;
  const torn = () => {
    throw new OperatorError(`Line ${read + 1} has no end: the lines were cut off. Give all of them again.`);
  };
  try {
    for await (const lines of splitLines(pieces, torn)) {
      yield decodeLines(lines);
      read += lines.length;
    }
  } catch (error) {
    if (!(error instanceof LineFault)) throw error;
    throw new OperatorError(
      `Line ${read + error.index + 1} ${error.message}. Give the lines as "courtd fleet tail" prints them.`,
    );
  }
}
