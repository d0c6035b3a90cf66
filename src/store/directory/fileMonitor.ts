import fs from 'node:fs';
import { FILES_CHECK_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';

/** What one of the files was when it was opened: a file system, and a number in it. */
interface Identity {
  readonly dev: number;
  readonly ino: number;
}

/**
 * Notices that the database, its log or the shared memory beside it has been removed, or that another file has its name:
 * SQLite would go on in files that nobody can open any more, and 202 would mean nothing. The same for the lock (directoryLock.ts), without
 * which another daemon would store beside this one what each of them holds for new. By their names, never by opening
 * them: closing such a descriptor would drop SQLite's locks. A restore cannot be the cause: it needs the daemon's lock.
 */
export class FileMonitor {
  readonly #files: ReadonlyMap<string, Identity>;
  readonly #lock: string;
  readonly #onLost: (error: OperatorError) => void;
  readonly #timer: NodeJS.Timeout;

  /**
   * @param file the database, which a connection has open in WAL mode: all three files are there.
   * @param lock what keeps other daemons out.
   * @param onLost is told once, at most FILES_CHECK_MS after it has happened.
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
        // A directory that was closed to us says nothing about its files; they go on being written.
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

/** @returns undefined where there is no such file. @throws where that cannot be told. */
function identityOf(file: string): Identity | undefined {
  return fs.statSync(file, { throwIfNoEntry: false });
}
