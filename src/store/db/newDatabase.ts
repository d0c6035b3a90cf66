import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';

/** How long a database that `serve` has made is called new: an unmounted disk must not look like a box that has nothing to do. */
const NEW_MS = 86_400_000;

/** The files that courtd keeps next to a database. Not the files of a command that only looks for a database. */
const BESIDE = /^courtd\.(lock|clock|reserve|backup|db-wal|db\.replaced-.*|db\.layout-.*)$/;

/** @returns the names of the files in a directory that show that there is, or was, a database. */
export function filesBesideDatabase(directory: DataDirectory): string[] {
  const isLeft = (name: string) =>
    BESIDE.test(name) &&
    // SQLite makes an empty WAL before there is anything in the database.
    (name !== 'courtd.db-wal' || fs.statSync(directory.at(name)).size > 0);
  try {
    return fs.readdirSync(directory.path).filter(isLeft).sort();
  } catch {
    // The caller that opens a file there reports the reason.
    return [];
  }
}

/** Whether a directory has no database, or an empty file in its place. */
export function lacksDatabase(directory: DataDirectory): boolean {
  return (fs.statSync(directory.file('database'), { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/**
 * Notes when `serve` made the database, in a file of its own: it belongs to the directory, while a database may come from another
 * one. The database exists: failing to note that it is new is no failure.
 */
export function noteNewDatabase(directory: DataDirectory, ms: number): void {
  try {
    directory.overwrite('newNote', `${new Date(ms).toISOString()}\n`);
  } catch {
    // The log has said it.
  }
}

/** For a restored database. */
export function forgetNewDatabase(directory: DataDirectory): void {
  fs.rmSync(directory.file('newNote'), { force: true });
}

/** @returns the age of a new database in milliseconds; undefined if there is none, or it is no longer new. */
export function newDatabaseAgeMs(directory: DataDirectory, nowMs: number): number | undefined {
  try {
    const ageMs = nowMs - Date.parse(directory.read('newNote').trim());
    return ageMs >= 0 && ageMs < NEW_MS ? ageMs : undefined;
  } catch {
    return undefined;
  }
}
