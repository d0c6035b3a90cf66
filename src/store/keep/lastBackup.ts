import type { DataDirectory } from '../../base/dataDirectory.ts';

/** What a backup is called in a directory that keeps several, by its time (base/atomicFile.ts). */
export const BACKUP_NAME = /^courtd-(\d{8}T\d{6}Z)\.db$/;

/**
 * Reads when this box was last backed up. A file of its own, because a backup changes nothing in the database, and because the time
 * belongs to the box, while a database may come from another one (a restore).
 * @returns milliseconds since 1970-01-01T00:00:00Z (undefined: not known), and where backups were written: directories and files.
 */
export function lastBackup(directory: DataDirectory): { ms: number | undefined; places: string[] } {
  try {
    const [at = '', ...places] = directory.read('backupNote').split('\n');
    return { ms: Date.parse(at) || undefined, places: places.slice(0, -1) };
  } catch {
    return { ms: undefined, places: [] };
  }
}

/**
 * The backup exists: failing to note it, such as on a full disk, is no failure. The note never gets shorter: it is written in place.
 * @param ms when the box was last backed up; undefined: never. @param place an absolute path: of a directory that keeps several, or of
 * the file.
 */
export function noteBackup(directory: DataDirectory, ms: number | undefined, place: string): void {
  try {
    const places = new Set([...lastBackup(directory).places, ...(place.includes('\n') ? [] : [place])]);
    directory.overwrite('backupNote', [new Date(ms ?? 0).toISOString(), ...places, ''].join('\n'));
  } catch {
    // Status then asks for another one within two days.
  }
}
