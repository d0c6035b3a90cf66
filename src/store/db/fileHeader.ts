import fs from 'node:fs';
import { APPLICATION_ID } from './schema.ts';

const HEADER_BYTES = 100;

/** What the header of a database file says (SQLite file format, section 1.3). */
interface FileHeader {
  /** The file has no contents: the power failed just after it was created. */
  readonly isEmpty: boolean;
  readonly isOurs: boolean;
  /** The layout version (schema.ts); 0: not set up. */
  readonly version: number;
}

/**
 * Closing the descriptor drops the locks of every connection of this process to the file: there must be none
 * (../../ARCHITECTURE.md#who-may-open-the-file).
 * @throws the system's error if the file cannot be read.
 */
export function readHeader(file: string): FileHeader {
  const bytes = Buffer.alloc(HEADER_BYTES);
  let length = 0;
  const fd = fs.openSync(file, 'r');
  try {
    length = fs.readSync(fd, bytes, 0, HEADER_BYTES, 0);
  } finally {
    fs.closeSync(fd);
  }
  const isSqlite = bytes.toString('latin1', 0, 16) === 'SQLite format 3\0';
  const isOurs = isSqlite && bytes.readUInt32BE(68) === APPLICATION_ID;
  const isEmpty = length === 0 || (isSqlite && isUnmarked(bytes));
  return { isEmpty, isOurs, version: bytes.readUInt32BE(60) };
}

/**
 * A single page without a table, a layout version or an application_id, as `PRAGMA auto_vacuum = INCREMENTAL`
 * writes it immediately (openDatabase.ts).
 */
function isUnmarked(bytes: Buffer): boolean {
  const [pages, largestRoot, version, isIncremental, application] = [28, 52, 60, 64, 68].map((at) =>
    bytes.readUInt32BE(at),
  );
  return pages === 1 && largestRoot === 1 && version === 0 && isIncremental === 1 && application === 0;
}
