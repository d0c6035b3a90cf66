import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const MEMORY = '/dev/shm';
const MEMORY_BYTES = 4 * 1024 ** 3;
const UNMOUNT_TRIES = 40;

/** A folder for images and mounts, in memory if there is room; everything that is made in it is undone at the end. */
export class Workshop {
  readonly #name: string;
  readonly #folder: string;
  readonly #undo: (() => void)[] = [];

  /** @param name of the script that works in it. */
  constructor(name: string) {
    this.#name = name;
    this.#folder = fs.mkdtempSync(path.join(isRoomy(MEMORY) ? MEMORY : os.tmpdir(), `courtd-${name}-`));
    this.onEnd(() => fs.rmSync(this.#folder, { recursive: true, force: true }));
    process.once('exit', () => this.end());
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(signal, () => process.exit(1));
  }

  file(name: string): string {
    return path.join(this.#folder, name);
  }

  /** @returns what undoes it now instead of at the end. */
  onEnd(undo: () => void): () => void {
    this.#undo.push(undo);
    return () => {
      const at = this.#undo.indexOf(undo);
      if (at < 0) return;
      this.#undo.splice(at, 1);
      undo();
    };
  }

  /** The last first; one that fails does not keep the others from being undone. */
  end(): void {
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) {
      try {
        undo();
      } catch (error) {
        console.error(`${this.#name}: something was left behind: ${error}`);
      }
    }
  }

  /** Makes an empty file of some size, without its blocks. */
  empty(name: string, bytes: number): string {
    const file = this.file(name);
    fs.writeFileSync(file, '');
    fs.truncateSync(file, bytes);
    return file;
  }

  /**
   * Mounts an image, or a block device, at a folder of its own.
   * @returns the folder, and what unmounts it.
   * @throws if the file system in it cannot be mounted.
   */
  mount(image: string, name: string): { folder: string; unmount: () => void } {
    const folder = this.file(name);
    fs.mkdirSync(folder, { recursive: true });
    const options = fs.statSync(image).isBlockDevice() ? [] : ['-o', 'loop'];
    execFileSync('mount', [...options, '-t', 'ext4', image, folder], { stdio: 'pipe' });
    return { folder, unmount: this.onEnd(() => unmountFrom(folder)) };
  }
}

/**
 * Unmounts. A process that was killed may hold it for a moment yet. This one may hold it until it ends, if it is ended in the
 * middle: then the kernel unmounts it afterwards, and releases the loop device.
 */
export function unmountFrom(folder: string): void {
  for (let tries = 1; tries <= UNMOUNT_TRIES; tries++) {
    if (spawnSync('umount', [folder], { stdio: 'ignore' }).status === 0) return;
    spawnSync('sleep', ['0.05']);
  }
  execFileSync('umount', ['--lazy', folder], { stdio: 'pipe' });
}

function isRoomy(folder: string): boolean {
  if (!fs.existsSync(folder)) return false;
  const { bavail, bsize } = fs.statfsSync(folder);
  return bavail * bsize > MEMORY_BYTES;
}
