import type { DataDirectory } from '../../base/dataDirectory.ts';

/** What a backup is called in a directory that keeps several, by its time (base/atomicFile.ts). */
export const BACKUP_NAME = /^courtd-(\d{8}T\d{6}Z)\.db$/;

const ISO_CHARS = 24;

/**
 * When this box was last backed up. A file of its own, because a backup changes nothing in the database, and because the time
 * belongs to the box, while a database may come from another one (a restore).
 * @returns milliseconds since 1970-01-01T00:00:00Z; undefined where that is not known.
 */
export function lastBackupMs(directory: DataDirectory): number | undefined {
  try {
    const ms = Date.parse(directory.read('backupNote').slice(0, ISO_CHARS));
    return Number.isNaN(ms) ? undefined : ms;
  } catch {
    return undefined;
  }
}

/** The backup exists: failing to note it, such as on a full disk, is no failure. */
export function noteBackup(directory: DataDirectory, ms: number): void {
  try {
    directory.overwrite('backupNote', `${new Date(ms).toISOString()}\n`);
  } catch {
    // Status then asks for another one within two days.
  }
}
