import fs from 'node:fs';
import path from 'node:path';
import { SCHEMA_VERSION } from '../layout/schema.ts';

/** @returns the name of the copy that is made of a database of this layout before it gets a newer one. */
export function preMigrationCopyOf(file: string, version: number): string {
  return `${file}.layout-${version}`;
}

/** @returns the newest copy made before an upgrade that this program can read. */
export function newestPreMigrationCopy(directory: string): string | undefined {
  const versions = fs
    .readdirSync(directory)
    .map((name) => Number(/^courtd\.db\.layout-(\d{1,6})$/.exec(name)?.[1]))
    .filter((version) => version <= SCHEMA_VERSION);
  return versions.length === 0
    ? undefined
    : preMigrationCopyOf(path.join(directory, 'courtd.db'), Math.max(...versions));
}
