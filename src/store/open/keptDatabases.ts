import fs from 'node:fs';
import path from 'node:path';
import { databaseFile } from './openDatabase.ts';

/** Older databases that lie beside the database. The daemon reads none of them again. */
export interface KeptDatabases {
  readonly names: readonly string[];
  /** With their logs. */
  readonly bytes: number;
}

/** @returns what restores have replaced (restore.ts), and what upgrades have copied (preMigrationCopy.ts). */
export function keptDatabases(directory: string): KeptDatabases {
  const prefix = `${path.basename(databaseFile(directory))}.`;
  const files = fs
    .readdirSync(directory)
    .filter((name) => name.startsWith(prefix) && /^(replaced|layout)-/.test(name.slice(prefix.length)));
  const sizes = files.map((name) => fs.statSync(path.join(directory, name), { throwIfNoEntry: false })?.size);
  const bytes = sizes.reduce<number>((sum, size = 0) => sum + size, 0);
  return { names: files.filter((name) => !/-(wal|journal)$/.test(name)), bytes };
}
