import fs from 'node:fs';
import { FILES_CHECK_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';

/**
 * Notices that the database, its WAL, its shared memory or the lock (directoryLock.ts) has been removed or
 * replaced. SQLite would continue in files that nobody else can open, and a 202 would mean nothing; without
 * the lock a second daemon would accept the same events. Looks at the names only and never opens a file:
 * closing the descriptor would drop SQLite's locks (../../ARCHITECTURE.md#who-may-open-the-file). A restore
 * is not the cause: it needs the lock of the daemon.
 * @param file the path of the database, which a connection has open in WAL mode, so that all three files
 * exist.
 * @param lock the path of the lock.
 * @param onLost called once, at most FILES_CHECK_MS after it happened, with the sentence for the operator.
 * @returns a function that stops it.
 */
export function watchFiles(file: string, lock: string, onLost: (error: OperatorError) => void): () => void {
  const files = new Map<string, fs.Stats>();
  for (const name of [file, `${file}-wal`, `${file}-shm`, lock]) {
    const stat = fs.statSync(name, { throwIfNoEntry: false });
    if (stat !== undefined) files.set(name, stat);
  }
  const timer = setInterval(() => {
    for (const [name, { dev, ino }] of files) {
      let now: fs.Stats | undefined;
      try {
        now = fs.statSync(name, { throwIfNoEntry: false });
      } catch {
        // A directory that has become inaccessible says nothing about its files, which can still be written.
        continue;
      }
      if (now?.dev === dev && now.ino === ino) continue;
      clearInterval(timer);
      const what = now === undefined ? 'was removed' : 'was replaced by another file';
      const advice = name === lock ? 'Start' : 'Put it back, or restore a backup, and start';
      return onLost(
        new OperatorError(
          `${name} ${what} while courtd was using it: no more events are stored. ${advice} courtd again.`,
        ),
      );
    }
  }, FILES_CHECK_MS).unref();
  return () => clearInterval(timer);
}
