import fs from 'node:fs';
import path from 'node:path';
import { fsync } from './atomicFile.ts';
import { inheritOwner } from './owner.ts';
import { createPrivateIfMissing, openCarefully, readSmall } from './privateFile.ts';

/** The files and the socket that courtd opens by name. */
const NAMES = {
  database: 'courtd.db',
  /** SQLite makes these three next to the database. */
  wal: 'courtd.db-wal',
  shm: 'courtd.db-shm',
  journal: 'courtd.db-journal',
  /** The lock of the one process that writes (directoryLock.ts). */
  lock: 'courtd.lock',
  /** The clock mark (nightlyRetention.ts). */
  clock: 'courtd.clock',
  /** Space for a prune of a full disk (diskReserve.ts). */
  reserve: 'courtd.reserve',
  /** When the box was last backed up (lastBackup.ts). */
  backupNote: 'courtd.backup',
  /** systemd's result of the last scheduled backup (courtd-backup.service). */
  backupResult: 'courtd.backup-result',
  /** Rejected requests (store/refused), with the files that SQLite makes next to them. */
  refused: 'refused.db',
  refusedWal: 'refused.db-wal',
  refusedShm: 'refused.db-shm',
  /** The last one that was damaged. */
  refusedAside: 'refused.db.damaged',
  /** The daemon's socket for commands. */
  controlSocket: 'control.sock',
} as const;

/** New files inherit the group of the directory. */
const DIRECTORY_MODE = 0o2770;

/** The data directory of a box, and the names of all files in it. */
export class DataDirectory {
  /** As the user gave it. */
  readonly path: string;

  constructor(directory: string) {
    this.path = directory;
  }

  /** @returns the data directory that contains a database. */
  static of(database: string): DataDirectory {
    return new DataDirectory(path.dirname(database));
  }

  /** @returns the path of a file or a socket. */
  file(name: keyof typeof NAMES): string {
    return this.at(NAMES[name]);
  }

  /** @returns the path of another file in it. */
  at(name: string): string {
    return path.join(this.path, name);
  }

  /** @returns the paths of the files that courtd opens by name. Others, such as an export that root has written, need not be accessible. */
  ownFiles(): string[] {
    const { controlSocket, ...files } = NAMES;
    return Object.values(files).map((name) => this.at(name));
  }

  /** Never follows a link, or waits for a pipe, that somebody has put there. @returns the descriptor. @throws Node's error. */
  open(name: keyof typeof NAMES, flags: number): number {
    return openCarefully(this.file(name), flags);
  }

  /** @returns the text of a small file. @throws Node's error. */
  read(name: keyof typeof NAMES): string {
    return readSmall(this.file(name));
  }

  /**
   * Writes over a small file in place, and creates it if it does not exist: on a full disk there is room for that, as long as
   * the text always has the same length. @throws Node's error.
   */
  overwrite(name: keyof typeof NAMES, text: string): void {
    createPrivateIfMissing(this.file(name));
    const fd = this.open(name, fs.constants.O_WRONLY);
    try {
      fs.writeSync(fd, text);
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Creates the directory, with its parents, if it does not exist. @throws Node's error. */
  make(): void {
    if (fs.existsSync(this.path)) return;
    makeDirectory(path.resolve(this.path));
    fs.chmodSync(this.path, DIRECTORY_MODE);
  }

  /** For sentences. */
  toString(): string {
    return this.path;
  }

  /** For logs, and the default value that help shows. */
  toJSON(): string {
    return this.path;
  }
}

/**
 * Creates the parents as well. Node's own recursive mkdir never returns if none can be created, such as in
 * /proc.
 */
function makeDirectory(directory: string): void {
  const parent = path.dirname(directory);
  if (!fs.existsSync(parent)) makeDirectory(parent);
  fs.mkdirSync(directory);
  const fd = fs.openSync(directory, 'r');
  inheritOwner(fd, directory);
  fs.closeSync(fd);
  // Otherwise a power failure may remove the directory, with everything that was synced in it.
  fsync(parent);
}
