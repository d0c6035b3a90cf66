import fs from 'node:fs';
import path from 'node:path';
import {
  explainWriteErrors,
  partialNameOf,
  removeLeftovers,
  removePartial,
  unusedName,
} from '../../base/atomicFile.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { actAsWriter, asCaller } from '../../base/processIdentity.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import { bytesFor, counted, isoTime } from '../../base/units.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { BACKUP_NAME, noteBackup } from '../../store/backup/lastBackup.ts';
import { type Copy, copyDatabase } from '../../store/backup/onlineBackup.ts';
import { databaseFile } from '../../store/directory/dataDirectory.ts';
import { type DataOption, withDatabase } from '../options/withDatabase.ts';
import { type JsonOption, Progress, printJson, say } from '../terminal/output.ts';

export interface BackupOptions extends DataOption, JsonOption {
  /** How many backups a directory keeps. */
  readonly keep: number;
}

export async function backup(place: string, options: BackupOptions): Promise<void> {
  yieldToIngest();
  const startedAt = performance.now();
  const directory = isDirectory(place) ? place : undefined;
  const work = async () => {
    // As late as can be: another backup that ended in between would have taken the name.
    const file = directory === undefined ? place : newName(directory);
    refuseBadPlace(file, options.data);
    if (directory === undefined) refuseExisting(file);
    const copy = await copyTo(file, options);
    // The older ones may have what this one has lost.
    const keepsAll = directory === undefined || copy.damage !== undefined;
    const removed = keepsAll ? [] : removeOlder(directory, path.basename(file), options.keep);
    return { file, copy, removed };
  };
  const { file, copy, removed } = await withDatabase(
    options,
    async () => {
      const done = await asOwnerOf(directory ?? path.dirname(place), work);
      noteBackup(options.data, Date.now());
      return done;
    },
    { staysRoot: true },
  );
  const seconds = Math.round(performance.now() - startedAt) / 1000;
  if (options.json) {
    const { bytes, events, sessions, newestMs } = copy;
    const newest_received_at = isoTime(newestMs);
    printJson({
      path: path.resolve(file),
      bytes,
      events,
      sessions,
      newest_received_at,
      seconds,
      removed,
    });
  } else {
    say(
      `Backup written to ${file}: ${bytesFor(copy.bytes)}, ${counted(copy.events, 'event')}, in ${seconds.toFixed(1)} s.`,
    );
    if (removed.length > 0) say(`Removed to keep ${counted(options.keep, 'backup')}: ${removed.join(', ')}.`);
  }
  if (copy.damage === undefined) return;
  throw new OperatorError(
    `The backup has all that can be read, but the database is damaged: ${copy.damage} No older backup was removed: keep one from before the damage.`,
  );
}

/** Root writes as the owner of the directory `place`, which may differ from the owner of the database. */
async function asOwnerOf<Result>(place: string, work: () => Promise<Result>): Promise<Result> {
  const restoreUser = explainWriteErrors(place, () => actAsWriter(place));
  try {
    return await work();
  } finally {
    restoreUser();
  }
}

async function copyTo(file: string, { data }: BackupOptions): Promise<Copy> {
  const directory = path.dirname(file);
  const isOurs = (name: string) => name === path.basename(file) || BACKUP_NAME.test(name);
  explainWriteErrors(file, () => removeLeftovers(directory, isOurs));
  const progress = new Progress();
  const cancelCleanup = cleanUpOnExit(() => asCaller(() => removePartial(partialNameOf(file))));
  try {
    return await copyDatabase(databaseFile(data), file, (bytes) =>
      progress.show(() => `${bytesFor(bytes)} copied`),
    );
  } finally {
    cancelCleanup();
    progress.clear();
  }
}

/**
 * A missing directory is never created: below a mount point whose disk is absent, it would be on the box's own disk.
 * @returns whether `place` is an existing directory; otherwise it is a file name that ends in .db.
 * @throws {OperatorError} where it is neither.
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

/** @throws {OperatorError} where the file is the database itself, or SQLite would take another one for part of it. */
function refuseBadPlace(file: string, data: string): void {
  const place = explainWriteErrors(file, () => fs.realpathSync(path.dirname(file)));
  // The owner of that directory may not be allowed into the data directory.
  const isBesideDatabase = place === asCaller(() => fs.realpathSync(data));
  if (isBesideDatabase && path.basename(file) === 'courtd.db') {
    throw new OperatorError(`${file} is the database itself: name another file.`);
  }
  for (const companion of ['-wal', '-journal']) {
    if (!fs.existsSync(`${file}${companion}`)) continue;
    throw new OperatorError(
      `${file}${companion} exists, and SQLite would read it as part of the backup: remove it, or name another file.`,
    );
  }
}

/** @throws {OperatorError} where the file exists. */
function refuseExisting(file: string): void {
  if (explainWriteErrors(file, () => fs.lstatSync(file, { throwIfNoEntry: false })) === undefined) return;
  throw new OperatorError(
    `${file} already exists and was not changed. Name another file, or a directory, which keeps the newest backups.`,
  );
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
