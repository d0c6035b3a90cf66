import fs from 'node:fs';
import { FILES_CHECK_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';

/** Identifies a file: its file system, and its inode there. */
interface Identity {
  readonly dev: number;
  readonly ino: number;
}

/**
 * Notices that the database, its WAL, its shared memory or the lock (directoryLock.ts) has been removed or
 * replaced. SQLite would continue in files that nobody else can open, and a 202 would mean nothing; without
 * the lock a second daemon would accept the same events. Looks at the names only and never opens a file:
 * closing the descriptor would drop SQLite's locks (../../ARCHITECTURE.md#who-may-open-the-file). A restore
 * is not the cause: it needs the lock of the daemon.
 */
export class FileMonitor {
  readonly #files: ReadonlyMap<string, Identity>;
  readonly #lock: string;
  readonly #onLost: (error: OperatorError) => void;
  readonly #timer: NodeJS.Timeout;

  /**
   * @param file the path of the database, which a connection has open in WAL mode, so that all three files
   * exist.
   * @param lock the path of the lock.
   * @param onLost called once, at most FILES_CHECK_MS after it happened, with the sentence for the operator.
   */
  constructor(file: string, lock: string, onLost: (error: OperatorError) => void) {
    const names = [file, `${file}-wal`, `${file}-shm`, lock];
    const identities = names.map((name) => [name, identityOf(name)] as const);
    this.#files = new Map(identities.filter((entry): entry is [string, Identity] => entry[1] !== undefined));
    this.#lock = lock;
    this.#onLost = onLost;
    this.#timer = setInterval(() => this.#check(), FILES_CHECK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    for (const [file, { dev, ino }] of this.#files) {
      let now: Identity | undefined;
      try {
        now = identityOf(file);
      } catch {
        // A directory that has become inaccessible says nothing about its files, which can still be written.
        continue;
      }
      if (now?.dev === dev && now.ino === ino) continue;
      this.stop();
      const what = now === undefined ? 'was removed' : 'was replaced by another file';
      const advice = file === this.#lock ? 'Start' : 'Put it back, or restore a backup, and start';
      return this.#onLost(
        new OperatorError(
          `${file} ${what} while courtd was using it: no more events are stored. ${advice} courtd again.`,
        ),
      );
    }
  }
}

/**
 * @returns undefined where there is no such file.
 * @throws the system's error where that cannot be determined.
 */
function identityOf(file: string): Identity | undefined {
  return fs.statSync(file, { throwIfNoEntry: false });
}
