import fs from 'node:fs';
import { timeOfName } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';

/** A file of an earlier database, which the daemon never reads again: it itself, its WAL or its journal. */
export interface PreviousFile {
  readonly name: string;
  /** Of the database that it belongs to. */
  readonly database: string;
  readonly bytes: number;
  /** When a restore replaced the database, milliseconds since 1970-01-01T00:00:00Z. */
  readonly ms: number;
}

/** @returns the files of replaced databases (restoreDatabase.ts). */
export function previousFiles(directory: DataDirectory): PreviousFile[] {
  return fs.readdirSync(directory.path, { withFileTypes: true }).flatMap((entry) => {
    const [name, database, time] = /^(courtd\.db\.replaced-(\w+))(?:-[a-z]+)?$/.exec(entry.name) ?? [];
    if (!entry.isFile() || name === undefined) return [];
    const bytes = fs.statSync(directory.at(name), { throwIfNoEntry: false })?.size ?? 0;
    return [{ name, database: database!, bytes, ms: timeOfName(time!) }];
  });
}
