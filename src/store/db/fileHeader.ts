import fs from 'node:fs';
import { APPLICATION_ID } from './schema.ts';

const HEADER_BYTES = 100;

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
