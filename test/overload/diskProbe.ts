import fs from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const EVERY_MS = 100;
const BYTES = Buffer.alloc(4096, 1);

/** Syncs a file of its own now and then: what the disk takes for that is not courtd's doing. */
export class DiskProbe {
  #isOver = false;
  readonly #work: Promise<number>;

  constructor(directory: string) {
    this.#work = this.#run(path.join(directory, 'probe'));
  }

  /** @returns the longest sync, in milliseconds. */
  end(): Promise<number> {
    this.#isOver = true;
    return this.#work;
  }

  async #run(name: string): Promise<number> {
    const file = await fs.open(name, 'w');
    let longestMs = 0;
    while (!this.#isOver) {
      await file.write(BYTES, 0, BYTES.length, 0);
      const startedAt = performance.now();
      await file.datasync();
      longestMs = Math.max(longestMs, performance.now() - startedAt);
      await sleep(EVERY_MS);
    }
    await file.close();
    return longestMs;
  }
}
