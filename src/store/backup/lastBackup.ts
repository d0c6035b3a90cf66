import fs from 'node:fs';
import path from 'node:path';
import { createPrivateIfMissing } from '../../base/privateFile.ts';

/**
 * When this box was last backed up: a file of its own, because a backup changes nothing in the database, and because that belongs
 * to the box, not to a database that may be of another (a restore).
 */
function noteFile(directory: string): string {
  return path.join(directory, 'courtd.backup');
}

const ISO_BYTES = 24;
/** Whatever lies there: a pipe would be waited for, and a link leads elsewhere. */
const { O_RDONLY, O_WRONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

/** @returns milliseconds since 1970-01-01T00:00:00Z; undefined where it is not known. */
export function lastBackupMs(directory: string): number | undefined {
  try {
    const bytes = Buffer.alloc(ISO_BYTES);
    withFile(noteFile(directory), O_RDONLY, (fd) => fs.readSync(fd, bytes));
    const ms = Date.parse(bytes.toString('latin1'));
    return Number.isNaN(ms) ? undefined : ms;
  } catch {
    return undefined;
  }
}

/** The backup is there: that it cannot be noted, such as on a full disk, is no failure. */
export function noteBackup(directory: string, ms: number): void {
  try {
    createPrivateIfMissing(noteFile(directory));
    withFile(noteFile(directory), O_WRONLY, (fd) => fs.writeSync(fd, `${new Date(ms).toISOString()}\n`));
  } catch {
    // Status then asks for another one, at the latest in a week.
  }
}

function withFile(file: string, flags: number, work: (fd: number) => void): void {
  const fd = fs.openSync(file, flags | O_NOFOLLOW | O_NONBLOCK);
  try {
    work(fd);
  } finally {
    fs.closeSync(fd);
  }
}
