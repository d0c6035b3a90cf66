import fs from 'node:fs';
import path from 'node:path';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { Store } from '../../src/store/store.ts';
import { UNLOGGED } from '../harness/storeEvents.ts';
import type { Disk } from './disk.ts';
import { timeline } from './world.ts';

/** When each history begins, by the clock of the box. */
export const EPOCH_MS = Date.UTC(2026, 2, 14, 15);

/** The data directory of a box that has just been set up: making it for each history would take as long as the history. */
export class Image {
  readonly #files: readonly (readonly [name: string, bytes: Buffer])[];

  private constructor(files: readonly (readonly [string, Buffer])[]) {
    this.#files = files;
  }

  /** Lets the store make it. */
  static async make(disk: Disk): Promise<Image> {
    disk.begin(0);
    timeline.begin(() => 0.4, EPOCH_MS - 60_000);
    const directory = new DataDirectory(path.join(disk.root, 'box'));
    const fatal = (error: unknown) => {
      throw error;
    };
    const store = await waitFor(Store.open(directory, { ...UNLOGGED, fatal }));
    await waitFor(store.close());
    const names = fs.readdirSync(directory.path).sort();
    return new Image(names.map((name) => [name, fs.readFileSync(directory.at(name))]));
  }

  /** Puts it on an empty disk. */
  put(directory: DataDirectory): void {
    fs.mkdirSync(directory.path);
    for (const [name, bytes] of this.#files) fs.writeFileSync(directory.at(name), bytes);
  }
}

async function waitFor<Value>(promise: Promise<Value>): Promise<Value> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  promise.then(over, over);
  for (;;) {
    await timeline.settled();
    if (isOver) return promise;
    timeline.runNext();
  }
}
