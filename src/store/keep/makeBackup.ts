import fs from 'node:fs';
import path from 'node:path';
import type { Database } from 'better-sqlite3';
import {
  explainWriteErrors,
  partialNameOf,
  removeLeftovers,
  removePartial,
  unusedName,
} from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import { withDatabase } from '../db/withDatabase.ts';
import { COMPANIONS } from './backupFile.ts';
import { BACKUP_NAME, noteBackup } from './lastBackup.ts';
import { type Copy, copyDatabase } from './onlineBackup.ts';

interface MadeBackup extends Copy {
  readonly file: string;
  /** The names of the older ones that were removed. */
  readonly removed: readonly string[];
}

/**
 * Copies the database, as it is at one moment, and notes when.
 * @param place a directory, which keeps its newest backups, or a new file that ends in .db.
 * @param keep how many backups a directory keeps.
 * @param copied gets the number of bytes so far.
 * @throws {OperatorError} why nothing was written there.
 */
export function makeBackup(
  data: DataDirectory,
  place: string,
  keep: number,
  copied: (bytes: number) => void,
): Promise<MadeBackup> {
  const keepsSeveral = explainWriteErrors(place, () => isDirectory(place));
  const work = async (db: Database) => {
    // A restored database has none yet, and it is copied while the daemon writes.
    db.pragma('journal_mode = WAL');
    // As late as can be: another backup that ended in between would have taken the name.
    const file = keepsSeveral ? newName(place) : place;
    explainWriteErrors(file, () => prepareFor(file));
    const cancelCleanup = cleanUpOnExit(() => removePartial(partialNameOf(file)));
    const copy = await copyDatabase(data.file('database'), file, copied).finally(cancelCleanup);
    // The older ones may have what this one has lost.
    const keepsAll = !keepsSeveral || copy.damage !== undefined;
    const removed = keepsAll ? [] : explainWriteErrors(place, () => removeOlder(place, file, keep));
    noteBackup(data, Date.now(), path.resolve(keepsSeveral ? place : file));
    return { file, ...copy, removed };
  };
  return withDatabase({ data }, work);
}

/**
 * A missing directory is never created: below a mount point whose disk is absent, it would be on the box's own disk.
 * @returns whether `place` is an existing directory; otherwise it is a file name that ends in .db.
 * @throws {OperatorError} if it is neither.
 */
function isDirectory(place: string): boolean {
  if (fs.statSync(place, { throwIfNoEntry: false })?.isDirectory()) return true;
  if (place.endsWith('.db')) return false;
  throw new OperatorError(
    `There is no directory ${place}. Mount its disk, or create it; to write one file, end its name in .db.`,
  );
}

/** @returns a file name that is not taken, also for a second backup in the same second. */
function newName(directory: string): string {
  return unusedName((time) => path.join(directory, `courtd-${time}.db`));
}

/** Removes what killed backups have left. @throws {OperatorError} if the file exists, or SQLite would take another one for part of it. */
function prepareFor(file: string): void {
  for (const found of ['', ...COMPANIONS].map((companion) => `${file}${companion}`)) {
    if (fs.lstatSync(found, { throwIfNoEntry: false }) === undefined) continue;
    throw new OperatorError(
      `${found} already exists and was not changed. Name another file, or a directory, which keeps the newest backups.`,
    );
  }
  const isOurs = (name: string) => name === path.basename(file) || BACKUP_NAME.test(name);
  removeLeftovers(path.dirname(file), isOurs);
}

/**
 * Removes the oldest backups of a directory, and no other files. The new one always stays, whatever the clock says. Those dated in the
 * future go first: they were made while the clock was ahead, and as the newest they would stay for ever. `next` is the time of this
 * call, so another backup that finished while this one was being written does not count as future.
 * @returns the names of the removed files.
 */
function removeOlder(directory: string, made: string, keep: number): string[] {
  const next = path.basename(newName(directory));
  const others = fs
    .readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== path.basename(made) && BACKUP_NAME.test(entry.name))
    .map(({ name }) => name)
    .sort((a, b) => Number(b > next) - Number(a > next) || (a < b ? -1 : 1));
  const older = others.slice(0, Math.max(0, others.length - (keep - 1)));
  // Another backup that ends at the same time may have removed one.
  for (const name of older) fs.rmSync(path.join(directory, name), { force: true });
  return older;
}
