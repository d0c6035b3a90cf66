import fs from 'node:fs';
import path from 'node:path';
import { cannotWrite, OperatorError } from './operatorError.ts';
import { createPrivate } from './privateFile.ts';

/** Files that have their name only when they are complete: written aside, fsynced, renamed. */

/** What SQLite may have left beside a file that it was writing; the file last, since they are found by it. */
const COMPANIONS = ['-journal', '-wal', '-shm', ''];

/** @returns the first name that is not taken of those that `named` makes of the time, from now on: YYYYMMDDThhmmssZ. */
export function unusedName(named: (time: string) => string): string {
  for (let ms = Date.now(); ; ms += 1000) {
    const name = named(new Date(ms).toISOString().replace(/[-:]|\.\d+/g, ''));
    if (!fs.existsSync(name)) return name;
  }
}

/** @returns the hidden name beside a file under which this process writes it. */
export function partialNameOf(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.partial`);
}

/**
 * Makes the empty file aside, closed to others. A file system that has no owners, such as that of a USB stick, may
 * refuse that: there it is as open as everything else on it.
 */
export function createPartial(file: string): string {
  const partial = partialNameOf(file);
  telling(file, () => {
    removePartial(partial);
    try {
      createPrivate(partial);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EPERM' || !fs.existsSync(partial)) throw error;
    }
  });
  return partial;
}

/** Gives a complete file its name, in an order that no power cut can turn around. */
export function publish(partial: string, file: string): void {
  telling(file, () => {
    fsync(partial);
    fs.renameSync(partial, file);
    fsync(path.dirname(file));
  });
}

export function removePartial(partial: string): void {
  for (const companion of COMPANIONS) fs.rmSync(`${partial}${companion}`, { force: true });
}

/**
 * Removes what killed processes have left aside.
 * @param isOurs which names it was aside of.
 */
export function removeLeftovers(directory: string, isOurs: (name: string) => boolean): void {
  for (const entry of fs.readdirSync(directory)) {
    const match = /^\.(.+)\.(\d+)\.partial$/.exec(entry);
    if (match === null || !isOurs(match[1]!) || isRunning(Number(match[2]))) continue;
    removePartial(path.join(directory, entry));
  }
}

/** Never the database of a connection in this process: closing a descriptor of it would drop SQLite's locks. */
export function fsync(file: string): void {
  const fd = fs.openSync(file, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** @throws {StoreError} why the file cannot be written. */
export function telling<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(
      `${cannotWrite(file, error as NodeJS.ErrnoException)} Mend that, or choose another place.`,
    );
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
