import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import zlib from 'node:zlib';
import { createPartial, explainWriteErrors, publish, removePartial } from '../../base/atomicFile.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { openCarefully } from '../../base/privateFile.ts';
import type { RefusedBodies } from '../rejections/refusedBodies.ts';
import type { RefusedBody } from '../rejections/refusedBody.ts';
import { RefusedIndex } from '../rejections/refusedIndex.ts';

/** The refused bodies beside a backup: a line of JSON each, the oldest first. */

interface Line extends Omit<RefusedBody, 'bytes'> {
  /** The places of events in it that wait no longer. */
  readonly done: readonly number[];
  /** Base64 of the gzip. */
  readonly gzip: string;
}

const SUFFIX = '.refused.ndjson';

/** @returns what stands beside a backup, whose name ends in .db. */
export function refusedCopyOf(backup: string): string {
  return `${backup.replace(/\.db$/, '')}${SUFFIX}`;
}

/** @returns refused bodies beside a backup that are of no backup there: of this one, before it was renamed? */
export function strayRefusedCopies(backup: string): string[] {
  const folder = path.dirname(backup);
  const hasBackup = (name: string) => fs.existsSync(path.join(folder, name.replace(SUFFIX, '.db')));
  try {
    return fs.readdirSync(folder).filter((name) => name.endsWith(SUFFIX) && !hasBackup(name));
  } catch {
    // Whoever opens the backup says why it cannot be.
    return [];
  }
}

/**
 * @param onDamaged is told the request_id of each body that is left out.
 * @returns how many bodies were copied.
 * @throws {OperatorError} where the file cannot be written.
 */
export function writeRefusedCopy(
  refused: RefusedBodies,
  file: string,
  onDamaged: (requestId: string) => void,
): number {
  const partial = createPartial(file);
  let count = 0;
  try {
    explainWriteErrors(file, () => {
      const fd = openCarefully(partial, fs.constants.O_WRONLY);
      try {
        for (const { gzip, ...body } of refused.all(onDamaged)) {
          const line: Line = { ...body, gzip: gzip.toString('base64') };
          fs.writeFileSync(fd, `${JSON.stringify(line)}\n`);
          count++;
        }
      } finally {
        fs.closeSync(fd);
      }
    });
    publish(partial, file);
    return count;
  } finally {
    removePartial(partial);
  }
}

/**
 * Adds the bodies of a copy to those that are kept.
 * @param fd of the copy; it is closed.
 * @returns how many there were.
 * @throws {OperatorError} where a line of it is none.
 */
export async function readRefusedCopy(fd: number, refused: RefusedBodies): Promise<number> {
  const index = new RefusedIndex();
  refused.count();
  refused.fill(index);
  let count = 0;
  for await (const text of readline.createInterface({ input: fs.createReadStream('', { fd }) })) {
    const line = parse(text);
    refused.atOnce(() => {
      refused.keep(line, index, () => false);
    });
    refused.tickOff(line.requestId, new Set(line.done));
    count++;
  }
  return count;
}

/** @throws {OperatorError} */
function parse(text: string): RefusedBody & Line {
  try {
    const line: Line = JSON.parse(text);
    return { ...line, bytes: zlib.gunzipSync(Buffer.from(line.gzip, 'base64')) };
  } catch {
    throw new OperatorError(
      'The database was restored. The refused bodies beside the backup are damaged: those before the damage were restored, too.',
    );
  }
}
