import fs from 'node:fs';
import { timeline } from '../world.ts';

/** In the place of node:fs/promises, which works in other threads: here each call is a step of its own, at a time that chance chooses. */

/** @returns what it returns, in a later step. */
function later<Value>(work: () => Value): Promise<Value> {
  return new Promise((resolve, reject) => {
    timeline.immediate(() => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    });
  });
}

const asStep =
  <Args extends unknown[], Value>(work: (...args: Args) => Value) =>
  (...args: Args) =>
    later(() => work(...args));

function handleOf(fd: number) {
  return {
    stat: asStep(() => fs.fstatSync(fd)),
    read: asStep((bytes: Buffer, from: number, count: number, at: number) => ({
      bytesRead: fs.readSync(fd, bytes, from, count, at),
    })),
    write: asStep((bytes: Buffer, from: number, count: number, at: number) => ({
      bytesWritten: fs.writeSync(fd, bytes, from, count, at),
    })),
    readFile: asStep((encoding: BufferEncoding) => fs.readFileSync(fd, encoding)),
    writeFile: asStep((data: Uint8Array) => fs.writeFileSync(fd, data)),
    truncate: asStep((bytes: number) => fs.ftruncateSync(fd, bytes)),
    sync: asStep(() => fs.fsyncSync(fd)),
    close: asStep(() => fs.closeSync(fd)),
  };
}

const promises = {
  open: asStep((file: string, flags?: number | string, mode?: number) =>
    handleOf(fs.openSync(file, flags ?? 'r', mode)),
  ),
  stat: asStep(fs.statSync as (...args: unknown[]) => unknown),
  readdir: asStep(fs.readdirSync as (...args: unknown[]) => unknown),
  mkdir: asStep(fs.mkdirSync),
  rm: asStep(fs.rmSync),
  rmdir: asStep(fs.rmdirSync),
  rename: asStep(fs.renameSync),
  unlink: asStep(fs.unlinkSync),
  writeFile: asStep(fs.writeFileSync),
};

export default promises;
export const { constants } = fs;
