import { Box } from './box.ts';
import type { Disk } from './disk.ts';
import { EPOCH_MS, type Image } from './image.ts';
import { chanceOf, type Plan } from './plan.ts';
import { closeAll } from './standIns/sqlite.ts';
import { timeline } from './world.ts';

/** What came of a history. */
export interface Result {
  readonly seed: number;
  readonly violations: readonly string[];
  /** What happened, line by line. */
  readonly log: readonly string[];
  /** Of all calls to the disk. */
  readonly digest: string;
}

/** Plays histories on one disk, one after another. */
export class Player {
  readonly #disk: Disk;
  readonly #image: Image;
  #box: Box | undefined;

  constructor(disk: Disk, image: Image) {
    this.#disk = disk;
    this.#image = image;
    for (const event of ['uncaughtException', 'unhandledRejection'])
      process.on(event, (error) => this.#box?.uncaught(error));
  }

  async play(plan: Plan): Promise<Result> {
    const disk = this.#disk;
    const random = chanceOf(plan.seed, 2);
    disk.begin(plan.seed);
    timeline.begin(() => random.next(), EPOCH_MS);
    const box = new Box(disk, random, plan);
    this.#box = box;
    this.#image.put(box.directory);
    disk.settle();
    try {
      for (const life of plan.lives) {
        await box.live(life);
        if (box.model.isOver) break;
      }
      if (!box.model.isOver) await box.settle();
    } catch (error) {
      box.model.violate(error instanceof Error ? error.stack! : String(error));
    }
    disk.kill();
    closeAll();
    timeline.clear();
    return {
      seed: plan.seed,
      violations: box.model.violations,
      log: box.log,
      digest: disk.digest,
    };
  }
}
