import fs from 'node:fs';
import path from 'node:path';
import { cannotWrite, OperatorError } from './operatorError.ts';
import { createPrivate } from './privateFile.ts';

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

/** @returns such a time, in milliseconds since 1970-01-01T00:00:00Z; undefined for another text. */
export function timeOfName(time: string): number | undefined {
  const [, year, month, dayAndHour, minute, second] =
    /^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/.exec(time) ?? [];
  const ms = Date.parse(`${year}-${month}-${dayAndHour}:${minute}:${second}`);
  return Number.isNaN(ms) ? undefined : ms;
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
    const match = /^\.(.+)\.(\d+)\.partial$/.exec(entry);
    if (match === null || !isOurs(match[1]!) || isRunning(Number(match[2]))) continue;
    removePartial(path.join(directory, entry));
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

/** Runs `work`. @param how to choose another place. @throws {OperatorError} for any error: that the file cannot be written, and why. */
export function explainWriteErrors<Result>(file: string, work: () => Result, how = ''): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const cause = error as NodeJS.ErrnoException;
    const advice = cause.code === 'ENOENT' ? `Create the directory ${path.dirname(file)}` : 'Fix that';
    throw new OperatorError(`${cannotWrite(file, cause)} ${advice}, or choose another place${how}.`);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
