import fs from 'node:fs';
import { APPLICATION_ID } from './schema.ts';

const HEADER_BYTES = 100;

/** What the first bytes of a database say (SQLite file format, section 1.3). */
export interface Header {
  /** Nothing is in it: the power went when it had just been made. */
  readonly isEmpty: boolean;
  readonly isOurs: boolean;
  /** The layout (schema.ts); 0: not set up. */
  readonly version: number;
}

/** Closing the descriptor drops the locks of any connection to the file in this process: there must be none. */
export function readHeader(file: string): Header {
  const fd = fs.openSync(file, 'r');
  try {
    return headerOf(fd);
  } finally {
    fs.closeSync(fd);
  }
}

export function headerOf(fd: number): Header {
  const bytes = Buffer.alloc(HEADER_BYTES);
  const isBlank = fs.readSync(fd, bytes, 0, HEADER_BYTES, 0) === 0;
  const isSqlite = bytes.toString('latin1', 0, 16) === 'SQLite format 3\0';
  const isOurs = isSqlite && bytes.readUInt32BE(68) === APPLICATION_ID;
  const isEmpty = isBlank || (isSqlite && isUnmarked(bytes));
  return { isEmpty, isOurs, version: bytes.readUInt32BE(60) };
}

/** One page without a table, a layout or a mark, as `PRAGMA auto_vacuum = INCREMENTAL` writes it at once (openDatabase.ts). */
function isUnmarked(bytes: Buffer): boolean {
  const [pages, largestRoot, version, isIncremental, application] = [28, 52, 60, 64, 68].map((at) =>
    bytes.readUInt32BE(at),
  );
  return pages === 1 && largestRoot === 1 && version === 0 && isIncremental === 1 && application === 0;
}
