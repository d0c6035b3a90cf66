import fs from 'node:fs';
import { timeOfName } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';

/** A file of an earlier database, which the daemon never reads again: it itself, its WAL or its journal. */
export interface PreviousFile {
  readonly name: string;
  /** Of the database that it belongs to. */
  readonly database: string;
  readonly bytes: number;
  /** When a restore replaced the database, or else the file was written, milliseconds since 1970-01-01T00:00:00Z. */
  readonly ms: number;
}

/** @returns the files of replaced databases (restoreDatabase.ts). */
export function previousFiles(directory: DataDirectory): PreviousFile[] {
  const names = fs.readdirSync(directory.path).filter((name) => name.startsWith('courtd.db.replaced-'));
  return names.flatMap((name) => {
    // The link itself if it is a symbolic one: it may lead to itself, which is an error.
    const stat = fs.lstatSync(directory.at(name), { throwIfNoEntry: false });
    if (stat === undefined || stat.isDirectory()) return [];
    // The time that a restore has given it (restoreDatabase.ts).
    const ms = timeOfName(/\.replaced-(\w+)/.exec(name)?.[1] ?? '') || stat.mtimeMs;
    return [{ name, database: name.replace(/-(wal|shm|journal)$/, ''), bytes: stat.size, ms }];
  });
}
