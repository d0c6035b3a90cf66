import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  createPartial,
  explainWriteErrors,
  partialNameOf,
  publish,
  removeLeftovers,
  removePartial,
  unusedName,
} from '../../base/atomicFile.ts';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { openCarefully } from '../../base/privateFile.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import { withDatabase } from '../db/openDatabase.ts';
import { explain } from '../db/openErrors.ts';
import { OVERWRITE_DELETED } from '../db/schema.ts';
import { sqliteCode } from '../db/sqliteErrors.ts';
import { runInThread } from '../db/statementThread.ts';
import { COMPANIONS } from './backupFile.ts';
import { BACKUP_NAME, noteBackup } from './lastBackup.ts';
import { type Verified, verifyDatabase } from './verifyDatabase.ts';

/** How often the copy is synced while it is being written: one sync of the whole copy would hold up the daemon's. */
const COPY_SYNC_MS = 100;

const SPOILED =
  'it was removed. Check its disk; "courtd check --full" shows whether the database is damaged too.';
const fdatasync = promisify(fs.fdatasync);

/** @returns a file name that is not taken, also for a second backup in the same second. */
const newName = (directory: string) => unusedName((time) => path.join(directory, `courtd-${time}.db`));

/**
 * Copies the database, as it is at one moment, and notes when.
 * @param place a directory, which keeps its newest backups, or a new file that ends in .db.
 * @param keep how many backups a directory keeps.
 * @returns the file, its bytes, and what it contains. @throws {OperatorError} why nothing was written there.
 */
export function makeBackup(data: DataDirectory, place: string, keep: number) {
  return withDatabase({ data }, async () => {
    const file = explainWriteErrors(place, () => fileFor(place));
    const contents = await copyDatabase(data.file('database'), file);
    // Of a damaged database the older ones may have what this one has lost.
    if (file !== place && contents.damage === undefined)
      explainWriteErrors(place, () => removeOlder(place, file, keep));
    noteBackup(data, Date.now(), path.resolve(place));
    return { file, bytes: fs.statSync(file).size, ...contents };
  });
}

/**
 * Removes what killed backups have left. A missing directory is never created: below a mount point whose disk is absent, it would be on
 * the box's own disk.
 * @returns a name in an existing directory, or `place`, which ends in .db then.
 * @throws {OperatorError} if it is neither, if the file exists, or if SQLite would take another one for part of it.
 */
function fileFor(place: string): string {
  const isDirectory = fs.statSync(place, { throwIfNoEntry: false })?.isDirectory();
  if (!isDirectory && !place.endsWith('.db'))
    throw new OperatorError(
      `There is no directory ${place}. Mount its disk, or create it; to write one file, end its name in .db.`,
    );
  const file = isDirectory ? newName(place) : place;
  const names = ['', ...COMPANIONS].map((companion) => `${file}${companion}`);
  const found = names.find((name) => fs.lstatSync(name, { throwIfNoEntry: false }) !== undefined);
  if (found !== undefined)
    throw new OperatorError(
      `${found} already exists and was not changed. Name another file, or a directory, which keeps the newest backups.`,
    );
  removeLeftovers(path.dirname(file), (name) => name === path.basename(file) || BACKUP_NAME.test(name));
  return file;
}

/**
 * Removes the oldest backups of a directory, and no other files. The new one always stays, whatever the clock says. Those dated in the
 * future go first: they were made while the clock was ahead, and as the newest they would stay for ever. Not one of another backup that
 * finished while this one was being written.
 */
function removeOlder(directory: string, made: string, keep: number): void {
  const next = path.basename(newName(directory));
  const rank = (name: string) => (name > next ? '0' : '1') + name;
  const others = fs
    .readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== path.basename(made) && BACKUP_NAME.test(entry.name))
    .sort((a, b) => (rank(a.name) < rank(b.name) ? 1 : -1));
  // Another backup that ends at the same time may have removed one.
  for (const { name } of others.slice(keep - 1)) fs.rmSync(path.join(directory, name), { force: true });
}

/**
 * Copies a database as of one moment, while others write (VACUUM INTO), verifies the copy, fsyncs it and renames it into place. The
 * WAL of the database cannot be truncated meanwhile.
 */
async function copyDatabase(file: string, target: string): Promise<Verified> {
  const partial = partialNameOf(target);
  const cancelCleanup = cleanUpOnExit(() => removePartial(partial));
  try {
    createPartial(target);
    await writeCopy(file, partial);
    const contents = verifyDatabase(partial, `The copy written to ${target}`, SPOILED);
    publish(partial, target);
    return contents;
  } catch (error) {
    // What cannot be written is the copy: nothing else is written.
    const isRead = /^SQLITE_(?!FULL|IOERR_(WRITE|FSYNC|DIR_FSYNC|TRUNCATE))/.test(sqliteCode(error) ?? '');
    throw isRead ? error : explain(error, DataDirectory.of(target));
  } finally {
    removePartial(partial);
    cancelCleanup();
  }
}

/** In a thread, so that signals are handled, and synced as it grows. */
async function writeCopy(file: string, partial: string): Promise<void> {
  // Closed only after the thread has closed its connection: closing it earlier would drop SQLite's locks.
  const fd = openCarefully(partial, fs.constants.O_RDWR);
  const pragmas = `PRAGMA busy_timeout = ${COMMAND_BUSY_MS}; PRAGMA ${OVERWRITE_DELETED}`;
  const copying = runInThread(file, `${pragmas}; VACUUM INTO '${partial.replaceAll("'", "''")}'`);
  const isOver = copying.then(() => true);
  try {
    while (!(await Promise.race([isOver, sleep(COPY_SYNC_MS, false)]))) await fdatasync(fd);
  } finally {
    await copying;
    fs.closeSync(fd);
  }
  const failure = await copying;
  if (failure !== undefined) throw failure;
}
