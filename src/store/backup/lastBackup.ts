import path from 'node:path';
import { overwritePrivate, readPrivate } from '../../base/privateFile.ts';

/** What a backup is called in a directory that keeps several: the parts of its time, in UTC. */
export const BACKUP_NAME = /^courtd-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/;

/**
 * When this box was last backed up. A file of its own, because a backup changes nothing in the database, and because the time
 * belongs to the box, while a database may come from another one (a restore).
 */
function noteFile(directory: string): string {
  return path.join(directory, 'courtd.backup');
}

const ISO_CHARS = 24;

/** @returns milliseconds since 1970-01-01T00:00:00Z; undefined where that is not known. */
export function lastBackupMs(directory: string): number | undefined {
  try {
    const ms = Date.parse(readPrivate(noteFile(directory)).slice(0, ISO_CHARS));
    return Number.isNaN(ms) ? undefined : ms;
  } catch {
    return undefined;
  }
}

/** The backup exists: failing to note it, such as on a full disk, is no failure. */
export function noteBackup(directory: string, ms: number): void {
  try {
    overwritePrivate(noteFile(directory), `${new Date(ms).toISOString()}\n`);
  } catch {
    // Status then asks for another one within two days.
  }
}
