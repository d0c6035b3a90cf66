import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { cannotWrite, OperatorError } from './operatorError.ts';
import { inheritOwner } from './owner.ts';
import { createPrivate } from './privateFile.ts';
import { cleanUpOnExit } from './signals.ts';

/** Atomic files: written under a temporary name, fsynced, and renamed once they are complete. */

/** Suffixes of the files that SQLite may leave beside a database; the file itself last, since leftovers are found by its name. */
const COMPANIONS = ['-journal', '-wal', '-shm', ''];

/** @param named makes a path of a UTC time, YYYYMMDDThhmmssZ. @returns the first path that does not exist, from now on. */
export function unusedName(named: (time: string) => string): string {
  for (let ms = Date.now(); ; ms += 1000) {
    const name = named(new Date(ms).toISOString().replace(/[-:]|\.\d+/g, ''));
    if (!fs.existsSync(name)) return name;
  }
}

/** @returns such a time, in milliseconds since 1970-01-01T00:00:00Z; NaN for another text. */
export function timeOfName(time: string): number {
  return Date.parse(time.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5'));
}

/** @returns the temporary path, hidden and in the same directory, under which this process writes a file. */
export function partialNameOf(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.partial`);
}

/**
 * Creates the empty temporary file, private to owner and group. A file system without owners, such as a USB stick's, may reject
 * that mode: there the file is as open as everything else.
 * @returns its path.
 * @throws {OperatorError} if it cannot be created.
 */
export function createPartial(file: string): string {
  const partial = partialNameOf(file);
  explainWriteErrors(file, () => {
    removePartial(partial);
    try {
      createPrivate(partial);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EPERM' || !fs.existsSync(partial)) throw error;
    }
  });
  return partial;
}

/**
 * Gives a complete file its final name: fsync, rename, fsync of the directory, so that a power cut leaves either all of it or none.
 * @throws {OperatorError}
 */
export function publish(partial: string, file: string): void {
  explainWriteErrors(file, () => {
    fsync(partial);
    fs.renameSync(partial, file);
    fsync(path.dirname(file));
  });
}

/** Writes a small file: all of it, or none. @throws {OperatorError} Then nothing else is left there. */
export function writeAtomically(file: string, text: string, isPublic = false): void {
  const partial = createPartial(file);
  try {
    explainWriteErrors(file, () => fs.writeFileSync(partial, text));
    if (isPublic) explainWriteErrors(file, () => fs.chmodSync(partial, 0o644));
    publish(partial, file);
  } catch (error) {
    removePartial(partial);
    throw error;
  }
}

/** The destination of long output, such as an export. */
export interface Sink {
  write(data: string | Uint8Array): Promise<void>;
  /** Completes the output; call it after the last write. */
  commit(): void;
  /** The file, and whether it replaces another one, for a message; absent: standard output. */
  readonly place?: string;
}

/** Others cannot read it, and less of it is open if the umask says so. */
const SINK_MODE = 0o640;

/**
 * Writes a large file, which has its name once it is complete. Only SIGKILL leaves an unfinished temporary file. Root gives it to the
 * owner of its directory.
 * @throws {OperatorError} from each step: why the file cannot be written.
 */
export function fileSink(name: string): Sink {
  const existing = explainWriteErrors(name, () => fs.statSync(name, { throwIfNoEntry: false }));
  // A device cannot be replaced.
  if (name.endsWith('/') || existing?.isFile() === false)
    throw new OperatorError(`${name} is a directory or a device. Name a file.`);
  // The target of a link: the rename would replace the link. It does replace one that appears meanwhile.
  const file = existing === undefined ? name : explainWriteErrors(name, () => fs.realpathSync(name));
  const partial = partialNameOf(file);
  // Before there is a file: a signal may come as soon as it is there.
  const cancelCleanup = cleanUpOnExit(() => removePartial(partial));
  const fd = explainWriteErrors(name, () => {
    removePartial(partial);
    const fd = fs.openSync(partial, 'wx', SINK_MODE);
    inheritOwner(fd, partial);
    return fd;
  });
  return {
    place: existing === undefined ? name : `${name}; the existing file was replaced`,
    write: async (data) => {
      explainWriteErrors(name, () => fs.writeFileSync(fd, data));
      // Signals are handled between turns of the event loop.
      await setImmediate();
    },
    commit: () => {
      explainWriteErrors(name, () => fs.closeSync(fd));
      publish(partial, file);
      cancelCleanup();
    },
  };
}

/**
 * Removes a temporary file and the files of SQLite next to it, if they exist. Never throws. The next writer to this place removes what
 * is left, and the first error is the one to report.
 */
export function removePartial(partial: string): void {
  for (const companion of COMPANIONS) {
    try {
      fs.rmSync(`${partial}${companion}`, { force: true });
    } catch {
      // `createPartial` reports it if it is in the way.
    }
  }
}

/**
 * Removes temporary files of processes that were killed.
 * @param isOurs whether a final file name is one of ours.
 */
export function removeLeftovers(directory: string, isOurs: (name: string) => boolean): void {
  for (const entry of fs.readdirSync(directory)) {
    const [, file, pid] = /^\.(.+)\.(\d+)\.partial$/.exec(entry) ?? [];
    if (file === undefined || !isOurs(file)) continue;
    try {
      process.kill(Number(pid), 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') removePartial(path.join(directory, entry));
    }
  }
}

/** Not for a database that this process has open: closing any descriptor of it drops SQLite's locks. @throws Node's error. */
export function fsync(file: string): void {
  const fd = fs.openSync(file, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** Runs `work`. @throws {OperatorError} for any error: that the file cannot be written, and why. */
export function explainWriteErrors<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const cause = error as NodeJS.ErrnoException;
    const advice = cause.code === 'ENOENT' ? `Create the directory ${path.dirname(file)}` : 'Fix that';
    throw new OperatorError(`${cannotWrite(file, cause)} ${advice}, or choose another place.`);
  }
}
