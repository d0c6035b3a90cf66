import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fsync, partialNameOf } from './atomicFile.ts';
import { OperatorError } from './operatorError.ts';
import { asCaller, isActing } from './processIdentity.ts';
import { cleanUpOnExit } from './signals.ts';
import { operatorErrors, type Sink } from './sink.ts';

/**
 * Writes to a temporary file beside `name`, fsyncs it and renames it, so that a file called `name` is always complete. Unless
 * SIGKILL ends the process, an unfinished temporary file is removed. Root writes as root, whoever owns the data directory. What it
 * holds is not for everybody: others cannot read it, and what root writes belongs to the group of the data directory.
 * @throws {OperatorError} from each step: why the file cannot be written.
 */
export function fileSink(name: string): Sink {
  const isLink = refuseForeignLink(name);
  const existing = operatorErrors(name, () => fs.statSync(name, { throwIfNoEntry: false }));
  if (existing?.isDirectory() || name.endsWith('/')) {
    throw new OperatorError(`${name} is the name of a directory: name a file in it.`);
  }
  // A device or a pipe cannot be replaced, only written to.
  const isSpecial = existing !== undefined && !existing.isFile();
  // The target of a link, such as /dev/stdout: the rename would replace the link. It does replace one that appears meanwhile.
  const file = existing !== undefined && isLink ? operatorErrors(name, () => fs.realpathSync(name)) : name;
  const partial = isSpecial ? name : partialNameOf(file);
  let isOpen = false;
  const remove = () => asCaller(() => isOpen && fs.rmSync(partial, { force: true }));
  const cancelCleanup = isSpecial ? () => {} : cleanUpOnExit(remove);
  // Never follow a link, or write to a file, that another user creates meanwhile.
  const flags = isSpecial ? O_WRONLY | (isLink ? 0 : O_NOFOLLOW) : O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  const group = isActing() ? process.getegid?.() : undefined;
  const fd = operatorErrors(name, () => {
    if (!isSpecial) fs.rmSync(partial, { force: true });
    const fd = fs.openSync(partial, flags, FILE_MODE);
    if (!isSpecial && group !== undefined) giveToGroup(fd, group);
    return fd;
  });
  isOpen = true;
  return {
    replaces: existing?.isFile() === true,
    write: async (data) => {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      for (let at = 0; at < bytes.length; ) at += operatorErrors(name, () => fs.writeSync(fd, bytes, at));
      // Signals are handled between turns of the event loop.
      await setImmediate();
    },
    commit: () => {
      if (isSpecial) return fs.closeSync(fd);
      operatorErrors(name, () => {
        fs.fsyncSync(fd);
        fs.closeSync(fd);
        fs.renameSync(partial, file);
        cancelCleanup();
        fsync(path.dirname(file));
      });
    },
  };
}

/** Creates a directory; its parent must exist. @throws {OperatorError} why it cannot be created. */
export function makeDirectory(place: string): void {
  refuseForeignLink(path.dirname(place));
  operatorErrors(place, () => fs.mkdirSync(place));
}

const FILE_MODE = 0o640;

/** A USB stick's file system may have no groups: there everybody's rights are those of the mount. */
function giveToGroup(fd: number, group: number): void {
  try {
    fs.fchownSync(fd, -1, group);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;

/**
 * Following another user's link, in the file name or in a directory above it, would write where that user may not.
 * @returns whether the file itself is a link.
 * @throws {OperatorError} if a link belongs to another user.
 */
function refuseForeignLink(name: string): boolean {
  const above = path.dirname(name);
  if (above !== name) refuseForeignLink(above);
  const stat = operatorErrors(name, () => fs.lstatSync(name, { throwIfNoEntry: false }));
  if (stat?.isSymbolicLink() !== true) return false;
  if (![0, process.getuid?.()].includes(stat.uid)) {
    throw new OperatorError(
      `${name} is a symbolic link of another user: remove it, or name its target with -o.`,
    );
  }
  return true;
}
