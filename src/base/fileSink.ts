import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { explainWriteErrors, partialNameOf, publish, removePartial } from './atomicFile.ts';
import { OperatorError } from './operatorError.ts';
import { inheritOwner } from './owner.ts';
import { cleanUpOnExit } from './signals.ts';

/** The destination of long output, such as an export. */
export interface Sink {
  write(data: string | Uint8Array): Promise<void>;
  /** Completes the output; call it after the last write. */
  commit(): void;
  /** The file, and whether it replaces another one, for a message; absent: standard output. */
  readonly place?: string;
}

/** Runs `work`. @throws {OperatorError} for every failure: why `file` cannot be written. */
export function operatorErrors<Result>(file: string, work: () => Result): Result {
  return explainWriteErrors(file, work, ' with -o');
}

const FILE_MODE = 0o640;
const { O_WRONLY, O_CREAT, O_EXCL } = fs.constants;

/**
 * Writes aside, fsyncs and renames, so that a file called `name` is always complete. Only SIGKILL leaves an unfinished temporary
 * file. Others cannot read it; root gives it to the owner of its directory.
 * @throws {OperatorError} from each step: why the file cannot be written.
 */
export function fileSink(name: string): Sink {
  const existing = operatorErrors(name, () => fs.statSync(name, { throwIfNoEntry: false }));
  if (existing?.isDirectory() || name.endsWith('/')) {
    throw new OperatorError(`${name} is the name of a directory. Name a file in it.`);
  }
  // A device or a pipe cannot be replaced, only written to.
  const isSpecial = existing !== undefined && !existing.isFile();
  // The target of a link: the rename would replace the link. It does replace one that appears meanwhile.
  const file = existing?.isFile() ? operatorErrors(name, () => fs.realpathSync(name)) : name;
  const partial = isSpecial ? name : partialNameOf(file);
  // Before there is a file: a signal may come as soon as it is there.
  const cancelCleanup = isSpecial ? () => {} : cleanUpOnExit(() => removePartial(partial));
  const fd = operatorErrors(name, () => {
    if (isSpecial) return fs.openSync(partial, O_WRONLY);
    removePartial(partial);
    // Never follow a link, or write to a file, that another user creates meanwhile.
    const fd = fs.openSync(partial, O_WRONLY | O_CREAT | O_EXCL, FILE_MODE);
    inheritOwner(fd, partial);
    return fd;
  });
  return {
    place: existing?.isFile() ? `${name}; the existing file was replaced` : name,
    write: async (data) => {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      for (let at = 0; at < bytes.length; ) at += operatorErrors(name, () => fs.writeSync(fd, bytes, at));
      // Signals are handled between turns of the event loop.
      await setImmediate();
    },
    commit: () => {
      operatorErrors(name, () => fs.closeSync(fd));
      if (isSpecial) return;
      publish(partial, file);
      cancelCleanup();
    },
  };
}
