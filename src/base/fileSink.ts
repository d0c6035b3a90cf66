import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fsync, partialNameOf } from './atomicFile.ts';
import { OperatorError } from './operatorError.ts';
import { inheritOwner } from './owner.ts';
import { cleanUpOnExit } from './signals.ts';
import { operatorErrors, type Sink } from './sink.ts';

const FILE_MODE = 0o640;
const { O_WRONLY, O_CREAT, O_EXCL } = fs.constants;

/**
 * Writes to a temporary file beside `name`, fsyncs it and renames it, so that a file called `name` is always complete. Unless
 * SIGKILL ends the process, an unfinished temporary file is removed. Others cannot read it; root gives it to the owner of its directory.
 * @throws {OperatorError} from each step: why the file cannot be written.
 */
export function fileSink(name: string): Sink {
  const existing = operatorErrors(name, () => fs.statSync(name, { throwIfNoEntry: false }));
  if (existing?.isDirectory() || name.endsWith('/')) {
    throw new OperatorError(`${name} is the name of a directory: name a file in it.`);
  }
  // A device or a pipe cannot be replaced, only written to.
  const isSpecial = existing !== undefined && !existing.isFile();
  // The target of a link: the rename would replace the link. It does replace one that appears meanwhile.
  const file = existing?.isFile() ? operatorErrors(name, () => fs.realpathSync(name)) : name;
  const partial = isSpecial ? name : partialNameOf(file);
  let isOpen = false;
  const remove = () => isOpen && fs.rmSync(partial, { force: true });
  const cancelCleanup = isSpecial ? () => {} : cleanUpOnExit(remove);
  // Never follow a link, or write to a file, that another user creates meanwhile.
  const flags = isSpecial ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL;
  const fd = operatorErrors(name, () => {
    if (!isSpecial) fs.rmSync(partial, { force: true });
    const fd = fs.openSync(partial, flags, FILE_MODE);
    if (!isSpecial) inheritOwner(fd, partial);
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
  operatorErrors(place, () => fs.mkdirSync(place));
}
