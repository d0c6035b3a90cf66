import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Cleanup, run } from './daemon.ts';

/** A disk of a few megabytes that can be filled to the last byte and emptied again. */

export class SmallDisk {
  readonly folder: string;
  readonly #filler: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.#filler = path.join(folder, 'filler');
  }

  /** It is removed after the test. */
  static async mount(t: Cleanup, mebibytes: number): Promise<SmallDisk> {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-disk-'));
    t.teardown(async () => {
      // Lazily: a daemon that is just being killed may still use it.
      await run('umount', ['-l', folder]);
      fs.rmdirSync(folder);
    });
    const size = `size=${mebibytes}M`;
    const { status, stderr } = await run('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', folder]);
    if (status !== 0) throw new Error(stderr);
    return new SmallDisk(folder);
  }

  /** @returns the data directory to be. */
  get data(): string {
    return path.join(this.folder, 'data');
  }

  /** Leaves this many bytes, in whole pages; 0: takes what there is. */
  fill(leaveBytes = 0): void {
    const { bavail, bsize } = fs.statfsSync(this.folder);
    const fd = fs.openSync(this.#filler, 'a');
    try {
      fs.writeSync(fd, Buffer.alloc(Math.max(0, bavail * bsize - leaveBytes)));
      while (leaveBytes === 0) fs.writeSync(fd, Buffer.alloc(bsize));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      fs.closeSync(fd);
    }
  }

  makeRoom(): void {
    fs.rmSync(this.#filler);
  }
}

/** Why none can be mounted here; false if one can. */
export const withoutMount: string | false = await (async () => {
  if (process.getuid?.() !== 0) return 'only root can mount a small disk';
  try {
    const ends: (() => unknown)[] = [];
    await SmallDisk.mount({ teardown: (end) => ends.push(end) }, 1);
    for (const end of ends) await end();
    return false;
  } catch (error) {
    return `no disk can be mounted: ${(error as Error).message.trim()}`;
  }
})();
