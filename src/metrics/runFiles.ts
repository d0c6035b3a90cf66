import path from 'node:path';
import type { Logger } from 'pino';
import { removePartial, writeAtomically } from '../base/atomicFile.ts';
import { OperatorError } from '../base/operatorError.ts';
import { every } from '../base/pause.ts';

const EVERY_MS = 15_000;

/**
 * Writes files for other users to the runtime directory, at once and every EVERY_MS, each aside and renamed. A failure is logged once
 * until it is over; events are accepted all the same.
 * @param make returns the text of each file by its name.
 * @returns what ends that, and removes the files: then nobody takes them for current.
 */
export function writeRunFiles(
  directory: string,
  make: () => Readonly<Record<string, string>>,
  log: Logger,
): () => void {
  const files = new Set<string>();
  let isFailing = false;
  const write = () => {
    try {
      for (const [name, text] of Object.entries(make())) {
        const file = path.join(directory, name);
        files.add(file);
        writeAtomically(file, text, true);
      }
      isFailing = false;
    } catch (error) {
      const reason = error instanceof OperatorError ? error.message : error;
      if (!isFailing) log.warn({ reason }, 'the files of the runtime directory cannot be written');
      isFailing = true;
    }
  };
  write();
  const stop = every(EVERY_MS, write);
  return () => {
    stop();
    for (const file of files) removePartial(file);
  };
}
