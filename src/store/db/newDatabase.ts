import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';

/** The files that courtd keeps next to a database. Not the files of a command that only looks for a database. */
const BESIDE = /^courtd\.(lock|clock|reserve|backup|db-wal|db\.replaced-.*|db\.layout-.*)$/;

/** @returns the names of the files in a directory that show that there is, or was, a database. */
export function filesBesideDatabase(directory: DataDirectory): string[] {
  try {
    return fs
      .readdirSync(directory.path)
      .filter((name) => BESIDE.test(name))
      .sort();
  } catch {
    // The caller that opens a file there reports the reason.
    return [];
  }
}

/** Whether a directory has no database, or an empty file in its place. */
export function lacksDatabase(directory: DataDirectory): boolean {
  return (fs.statSync(directory.file('database'), { throwIfNoEntry: false })?.size ?? 0) === 0;
}
