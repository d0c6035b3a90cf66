import fs from 'node:fs/promises';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { lastBackupMs } from '../store/backup/lastBackup.ts';
import { gauge, type ValueFamily } from './family.ts';

/**
 * What the data directory shows, whether the daemon is running or not: sizes by name, without opening the database.
 * @param isRunning whether the daemon is running.
 * @throws Node's error where the sizes cannot be read.
 */
export async function directoryFamilies(data: DataDirectory, isRunning: boolean): Promise<ValueFamily[]> {
  const [disk, bytes, walBytes] = await Promise.all([
    fs.statfs(data.path),
    sizeOf(data.file('database')),
    sizeOf(data.file('wal')),
  ]);
  const backupMs = lastBackupMs(data);
  return [
    gauge('courtd_up', 'Whether the daemon is running.', Number(isRunning)),
    gauge(
      'courtd_collected_timestamp_seconds',
      'When these metrics were collected, by the clock of the box.',
      Date.now() / 1_000,
    ),
    gauge('courtd_database_bytes', 'Size of the database file.', bytes),
    gauge('courtd_wal_bytes', 'Size of the write-ahead log.', walBytes),
    gauge('courtd_disk_free_bytes', 'Free space on the disk of the database.', disk.bavail * disk.bsize),
    gauge('courtd_disk_size_bytes', 'Size of the disk of the database.', disk.blocks * disk.bsize),
    gauge(
      'courtd_last_backup_timestamp_seconds',
      'When this box was last backed up; absent where it never was.',
      backupMs === undefined ? null : backupMs / 1_000,
    ),
  ];
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await fs.stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
