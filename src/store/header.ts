import fs from 'node:fs';
import { APPLICATION_ID } from './schema.ts';

const HEADER_BYTES = 100;

/** What the first bytes of a database say (SQLite file format, section 1.3). */
export interface Header {
  readonly isEmpty: boolean;
  readonly isOurs: boolean;
  /** The layout (schema.ts); 0: not set up. */
  readonly version: number;
}

/** Closing the descriptor drops the locks of any connection to the file in this process: there must be none. */
export function readHeader(file: string): Header {
  const bytes = Buffer.alloc(HEADER_BYTES);
  const fd = fs.openSync(file, 'r');
  try {
    const isEmpty = fs.readSync(fd, bytes, 0, HEADER_BYTES, 0) === 0;
    const isSqlite = bytes.toString('latin1', 0, 16) === 'SQLite format 3\0';
    const isOurs = isSqlite && bytes.readUInt32BE(68) === APPLICATION_ID;
    return { isEmpty, isOurs, version: bytes.readUInt32BE(60) };
  } finally {
    fs.closeSync(fd);
  }
}
