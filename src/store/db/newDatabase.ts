import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { createPartial, publish, removeLeftovers, removePartial } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { APPLICATION_ID, makeLayout } from './schema.ts';

/** The files that courtd keeps next to a database. Not the files of a command that only looks for a database. */
const BESIDE = /^courtd\.(lock|clock|reserve|backup|db-wal|db\.replaced-.*)$/;

const HEADER_BYTES = 100;

/**
 * A new database in the place of one would hide that a disk is not mounted, or that somebody has moved the other one away.
 * @param create makes the directory and the database, if there never was one.
 * @throws {OperatorError} if there is no database, or none is created because there was one; Node's errors.
 */
export function assertDatabase(directory: DataDirectory, create = false): void {
  if (fs.existsSync(directory.file('database'))) return;
  const names = fs.existsSync(directory.path) ? fs.readdirSync(directory.path) : [];
  const left = names.filter((name) => BESIDE.test(name)).sort();
  if (left.length > 0)
    throw new OperatorError(
      `There is no courtd database in ${directory}, and there was one. Left of it: ${left.join(', ')}. Check that its disk is mounted, and that nobody moved courtd.db. ` +
        'Put it back, or restore a backup ("courtd restore"). If you want a new, empty database, move those files to another directory first.',
    );
  if (!create)
    throw new OperatorError(
      `There is no courtd database in ${directory}. "courtd serve" or "courtd token rotate" makes one; or name the directory that has it with --data.`,
    );
  directory.make();
  makeDatabase(directory.file('database'));
}

/**
 * Makes a database, and gives it its name once it has its tables: a power cut before that leaves none. Another process may be faster.
 * @param also in the transaction that makes the tables. @throws {OperatorError}, and SQLite's errors.
 */
export function makeDatabase(file: string, also?: (db: Database.Database) => void): void {
  removeLeftovers(path.dirname(file), (name) => name === path.basename(file));
  const partial = createPartial(file);
  try {
    const db = new Database(partial);
    makeLayout(db, also);
    db.close();
    if (!fs.existsSync(file)) publish(partial, file);
  } finally {
    removePartial(partial);
  }
}

/**
 * Whether the header of a file says that it is a database of courtd's (SQLite file format, section 1.3). Closing the descriptor drops the
 * locks of every connection of this process to the file: there must be none (../../ARCHITECTURE.md#who-may-open-the-file).
 * @throws the system's error if the file cannot be read.
 */
export function isDatabase(file: string): boolean {
  const bytes = Buffer.alloc(HEADER_BYTES);
  const fd = fs.openSync(file, 'r');
  try {
    fs.readSync(fd, bytes);
  } finally {
    fs.closeSync(fd);
  }
  return bytes.toString('latin1', 0, 16) === 'SQLite format 3\0' && bytes.readUInt32BE(68) === APPLICATION_ID;
}
