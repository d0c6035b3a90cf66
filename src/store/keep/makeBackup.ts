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
  const directory = isDirectory(place) ? place : undefined;
  const work = async () => {
    // As late as can be: another backup that ended in between would have taken the name.
    const file = directory === undefined ? place : newName(directory);
    refuseExisting(file);
    const copy = await copyTo(file, data, copied);
    // The older ones may have what this one has lost.
    const keepsAll = directory === undefined || copy.damage !== undefined;
    return {
      file,
      ...copy,
      removed: keepsAll ? [] : removeOlder(directory, path.basename(file), keep),
    };
  };
  const copyAndNote = async (db: Database) => {
    // A restored database has none yet, and it is copied while the daemon writes.
    db.pragma('journal_mode = WAL');
    const made = await work();
    noteBackup(data, Date.now(), path.resolve(directory ?? made.file));
    return made;
  };
  return withDatabase({ data }, copyAndNote);
}

async function copyTo(file: string, data: DataDirectory, copied: (bytes: number) => void): Promise<Copy> {
  const directory = path.dirname(file);
  const isOurs = (name: string) => name === path.basename(file) || BACKUP_NAME.test(name);
  explainWriteErrors(file, () => removeLeftovers(directory, isOurs));
  const cancelCleanup = cleanUpOnExit(() => removePartial(partialNameOf(file)));
  try {
    return await copyDatabase(data.file('database'), file, copied);
  } finally {
    cancelCleanup();
  }
}

/**
 * A missing directory is never created: below a mount point whose disk is absent, it would be on the box's own disk.
 * @returns whether `place` is an existing directory; otherwise it is a file name that ends in .db.
 * @throws {OperatorError} if it is neither.
 */
function isDirectory(place: string): boolean {
  const stat = explainWriteErrors(place, () => fs.statSync(place, { throwIfNoEntry: false }));
  if (stat?.isDirectory()) return true;
  if (place.endsWith('/')) {
    throw new OperatorError(`There is no directory ${place}: mount its disk, or create it.`);
  }
  if (place.endsWith('.db')) return false;
  throw new OperatorError(
    stat === undefined
      ? `There is no directory ${place}: mount its disk, or create it. To write one file, end its name in .db.`
      : `${place} is not a directory: name one, or a new file that ends in .db.`,
  );
}

/** @returns a file name that is not taken, also for a second backup in the same second. */
function newName(directory: string): string {
  return unusedName((time) => path.join(directory, `courtd-${time}.db`));
}

/** @throws {OperatorError} if the file exists, or SQLite would take another one for part of it. */
function refuseExisting(file: string): void {
  for (const found of ['', ...COMPANIONS].map((companion) => `${file}${companion}`)) {
    if (explainWriteErrors(file, () => fs.lstatSync(found, { throwIfNoEntry: false })) === undefined)
      continue;
    throw new OperatorError(
      `${found} already exists and was not changed. Name another file, or a directory, which keeps the newest backups.`,
    );
  }
}

/**
 * Removes the oldest backups of a directory, and no other files. The new one always stays, whatever the clock says. Those dated in the future go
 * first: they were made while the clock was ahead, and as the newest they would stay for ever. `next` is the time of this
 * call, so another backup that finished while this one was being written does not count as future.
 * @returns the names of the removed files.
 */
function removeOlder(directory: string, made: string, keep: number): string[] {
  const next = path.basename(newName(directory));
  const others = fs
    .readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== made && BACKUP_NAME.test(entry.name))
    .map(({ name }) => name)
    .sort((a, b) => Number(b > next) - Number(a > next) || (a < b ? -1 : 1));
  const older = others.slice(0, Math.max(0, others.length - (keep - 1)));
  for (const name of older) {
    const file = path.join(directory, name);
    // Another backup that ends at the same time may have removed it.
    explainWriteErrors(file, () => fs.rmSync(file, { force: true }));
  }
  return older;
}
