import fs from 'node:fs';
import { FILES_CHECK_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { every } from '../../base/pause.ts';

/**
 * Notices that the database, its WAL, its shared memory or the lock (directoryLock.ts) has been removed or replaced. SQLite would
 * continue in files that nobody else can open, and a 202 would mean nothing; without the lock a second daemon would accept the same
 * events. Looks at the names only and never opens a file: closing the descriptor would drop SQLite's locks
 * (../../ARCHITECTURE.md#who-may-open-the-file). A restore is not the cause: it needs the lock of the daemon.
 * @param file the path of the database, which a connection has open in WAL mode, so that all three files exist.
 * @param onLost called at most FILES_CHECK_MS after it happened, and again, with the sentence for the operator.
 * @returns a function that stops it.
 */
export function watchFiles(file: string, lock: string, onLost: (error: OperatorError) => void): () => void {
  const names = [file, `${file}-wal`, `${file}-shm`, lock];
  const inodeOf = (name: string) => {
    const { dev, ino } = fs.statSync(name, { throwIfNoEntry: false }) ?? {};
    return `${dev}:${ino}`;
  };
  const before = names.map(inodeOf);
  return every(FILES_CHECK_MS, () => {
    try {
      const lost = names.find((name, i) => inodeOf(name) !== before[i]);
      if (lost === undefined) return;
      onLost(
        new OperatorError(
          `${lost} was removed or replaced while courtd was using it: no more events are stored. Put it back, or restore a backup, and start courtd again.`,
        ),
      );
    } catch {
      // A directory that has become inaccessible says nothing about its files, which can still be written.
    }
  });
}
