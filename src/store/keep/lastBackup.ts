import type { DataDirectory } from '../../base/dataDirectory.ts';
import { SMALL_FILE_BYTES } from '../../base/privateFile.ts';

/** What a backup is called in a directory that keeps several, by its time (base/atomicFile.ts). */
export const BACKUP_NAME = /^courtd-(\d{8}T\d{6}Z)\.db$/;

const ISO_CHARS = 24;

/**
 * When this box was last backed up. A file of its own, because a backup changes nothing in the database, and because the time
 * belongs to the box, while a database may come from another one (a restore).
 * @returns milliseconds since 1970-01-01T00:00:00Z; undefined if that is not known.
 */
export function lastBackupMs(directory: DataDirectory): number | undefined {
  const ms = Date.parse(readNote(directory).slice(0, ISO_CHARS));
  return ms > 0 ? ms : undefined;
}

/** @returns where backups were written: directories that keep several, and files. */
export function backupPlaces(directory: DataDirectory): string[] {
  return readNote(directory).split('\n').slice(1, -1);
}

/** @returns the note; empty if none can be read. */
function readNote(directory: DataDirectory): string {
  try {
    return directory.read('backupNote');
  } catch {
    return '';
  }
}

/**
 * The backup exists: failing to note it, such as on a full disk, is no failure. The note never gets shorter: it is written in place.
 * @param ms when the box was last backed up; 0: never. @param place an absolute path: of a directory that keeps several, or of the file.
 */
export function noteBackup(directory: DataDirectory, ms: number, place: string): void {
  try {
    const at = new Date(ms).toISOString();
    const places = new Set([...backupPlaces(directory), ...(place.includes('\n') ? [] : [place])]);
    const text = [at, ...places, ''].join('\n');
    directory.overwrite('backupNote', Buffer.byteLength(text) <= SMALL_FILE_BYTES ? text : `${at}\n`);
  } catch {
    // Status then asks for another one within two days.
  }
}
