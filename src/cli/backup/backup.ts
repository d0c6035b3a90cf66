import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { partialNameOf, removeLeftovers, removePartial, telling, unusedName } from '../../base/atomicFile.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { actAsWriter, asCaller } from '../../base/processIdentity.ts';
import { type Copy, copyDatabase } from '../../store/backup/onlineBackup.ts';
import { databaseFile } from '../../store/open/openDatabase.ts';
import { type DataOption, withDatabase } from '../options/withDatabase.ts';
import {
  atEnd,
  counted,
  isoTime,
  type JsonOption,
  mebibytes,
  Progress,
  printJson,
  say,
} from '../terminal/output.ts';

export interface BackupOptions extends DataOption, JsonOption {
  /** Backups that a directory keeps. */
  readonly keep: number;
}

/** Only files with such a name are ever removed. */
const BACKUP_NAME = /^courtd-\d{8}T\d{6}Z\.db$/;
/** Less urgent than the daemon. */
const PRIORITY = 10;

/** `courtd backup FILE|DIR`. */
export async function backup(place: string, options: BackupOptions): Promise<void> {
  // Who has made it even less urgent (nice) may not be allowed to take that back.
  if (os.getPriority() < PRIORITY) os.setPriority(PRIORITY);
  const startedAt = performance.now();
  const directory = isDirectory(place) ? place : undefined;
  const file = directory === undefined ? place : newName(directory);
  const work = async () => {
    const copy = await copyTo(file, options);
    const removed = directory === undefined ? [] : removeOlder(directory, path.basename(file), options.keep);
    return { copy, removed };
  };
  const { copy, removed } = await withDatabase(options, () => writingTo(path.dirname(file), work), {
    staysRoot: true,
  });
  const seconds = Math.round(performance.now() - startedAt) / 1000;
  if (options.json) {
    const { bytes, events, sessions, newestMs } = copy;
    const newest_received_at = isoTime(newestMs);
    return printJson({
      path: path.resolve(file),
      bytes,
      events,
      sessions,
      newest_received_at,
      seconds,
      removed,
    });
  }
  say(
    `Backup written to ${file}: ${mebibytes(copy.bytes)}, ${counted(copy.events, 'event')}, in ${seconds.toFixed(1)} s.`,
  );
  if (removed.length > 0) say(`Removed, to keep ${options.keep}: ${removed.join(', ')}.`);
}

/** Root writes as the owner of the place, who may be another one than the database's. */
async function writingTo<Result>(place: string, work: () => Promise<Result>): Promise<Result> {
  const back = telling(place, () => actAsWriter(place));
  try {
    return await work();
  } finally {
    back();
  }
}

async function copyTo(file: string, { data }: BackupOptions): Promise<Copy> {
  refuseTaken(file, data);
  const directory = path.dirname(file);
  const isOurs = (name: string) => name === path.basename(file) || BACKUP_NAME.test(name);
  telling(file, () => removeLeftovers(directory, isOurs));
  const progress = new Progress();
  const calledOff = atEnd(() => asCaller(() => removePartial(partialNameOf(file))));
  try {
    return await copyDatabase(databaseFile(data), file, (bytes) =>
      progress.show(() => `${mebibytes(bytes)} copied`),
    );
  } finally {
    calledOff();
    progress.clear();
  }
}

/** @throws {StoreError} where it is neither: a mistyped directory would become a file, and on the box's own disk. */
function isDirectory(place: string): boolean {
  const stat = telling(place, () => fs.statSync(place, { throwIfNoEntry: false }));
  if (stat?.isDirectory()) return true;
  // Never made: below a mount point whose disk is not there, it would be on the box's own disk.
  if (place.endsWith('/'))
    throw new OperatorError(`There is no directory ${place}: mount its disk, or make it.`);
  if (place.endsWith('.db')) return false;
  throw new OperatorError(
    stat === undefined
      ? `There is no directory ${place}: mount its disk, or make it. To write one file, end its name in .db.`
      : `${place} is no directory: name one, or a new file that ends in .db.`,
  );
}

/** A name of its own, also for two in one second. */
function newName(directory: string): string {
  return unusedName((time) => path.join(directory, `courtd-${time}.db`));
}

function refuseTaken(file: string, data: string): void {
  const place = telling(file, () => fs.realpathSync(path.dirname(file)));
  // The owner of the place may have no way to the database.
  const isBesideDatabase = place === asCaller(() => fs.realpathSync(data));
  if (isBesideDatabase && path.basename(file) === 'courtd.db') {
    throw new OperatorError(`${file} is a name that the database itself uses: name another file.`);
  }
  if (telling(file, () => fs.lstatSync(file, { throwIfNoEntry: false })) !== undefined) {
    throw new OperatorError(
      `${file} exists already: nothing was changed. Name another file, or a directory, which keeps the newest ones.`,
    );
  }
  for (const companion of ['-wal', '-journal']) {
    // SQLite would take it for the backup's.
    if (!fs.existsSync(`${file}${companion}`)) continue;
    throw new OperatorError(`${file}${companion} lies in the way: remove it, or name another file.`);
  }
}

/**
 * Never the new one, whatever the clock says; and those that seem to come from the future before the others: they were made
 * when the clock was ahead, and as the newest they would keep their places for ever. One that was begun and ended while
 * this one was being written is none of those.
 * @returns the names of those that are gone.
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
    // Another backup that ends at the same time may be faster.
    telling(file, () => fs.rmSync(file, { force: true }));
  }
  return older;
}
