import fs from 'node:fs';
import path from 'node:path';
import { databaseFile } from '../directory/dataDirectory.ts';
import { SCHEMA_VERSION } from '../layout/schema.ts';

/** Earlier databases in the data directory, which the daemon never reads again. */
export interface PreviousDatabases {
  readonly names: readonly string[];
  /** Including their WALs and journals. */
  readonly bytes: number;
}

/**
 * @returns the databases that restores have replaced (restore.ts), and the copies that upgrades have made
 * (upgradeDatabase.ts).
 */
export function previousDatabases(directory: string): PreviousDatabases {
  const prefix = `${path.basename(databaseFile(directory))}.`;
  const files = fs
    .readdirSync(directory)
    .filter((name) => name.startsWith(prefix) && /^(replaced|layout)-/.test(name.slice(prefix.length)));
  // Of a symbolic link the link itself: it may lead to itself, which is an error.
  const sizes = files.map(
    (name) => fs.lstatSync(path.join(directory, name), { throwIfNoEntry: false })?.size,
  );
  const bytes = sizes.reduce<number>((sum, size = 0) => sum + size, 0);
  return { names: files.filter((name) => !/-(wal|journal)$/.test(name)), bytes };
}

/** @returns the name of the copy that an upgrade makes of a database of this layout. */
export function preMigrationCopyOf(file: string, version: number): string {
  return `${file}.layout-${version}`;
}

/** @returns the newest such copy that this version can read. */
export function newestPreMigrationCopy(directory: string): string | undefined {
  const versions = fs
    .readdirSync(directory)
    .map((name) => Number(/^courtd\.db\.layout-(\d{1,6})$/.exec(name)?.[1]))
    .filter((version) => version <= SCHEMA_VERSION);
  return versions.length === 0
    ? undefined
    : preMigrationCopyOf(databaseFile(directory), Math.max(...versions));
}
