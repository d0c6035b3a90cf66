import fs from 'node:fs';
import { Disk } from './disk.ts';
import { Player, type Result } from './history.ts';
import { Image } from './image.ts';
import { MEETINGS, makePlan, type Plan, seedOf } from './plan.ts';
import { PLANTS } from './plants.ts';
import { shrink } from './shrink.ts';

/**
 * A process that plays histories, started by main.ts with the disk (disk.c) between it and the C library:
 * `player.ts LIBRARY ROOT FIRST STEP SECONDS`. It says what it does over the channel to its parent.
 */

/** What it says. */
export type Told =
  | { readonly begins: number }
  /** How many it has played. */
  | { readonly ended: number }
  | { readonly found: Found };

/** A violation. */
export interface Found {
  readonly seed: number;
  readonly violations: readonly string[];
  /** What happened, in the shortest form of it that was found. */
  readonly log: readonly string[];
  readonly operations: { readonly first: number; readonly shrunk: number };
}

const [library, root, first, step, seconds] = process.argv.slice(2);
const disk = new Disk(library!, root!);
const near = PLANTS.find(({ name }) => name === process.env.HISTORIES_PLANT)?.near;
const player = new Player(disk, await Image.make(disk));
if (seconds === undefined) await playTwice(Number(first));
else await playFor(Number(first), Number(step), Number(seconds));
disk.close();
fs.rmSync(root!, { recursive: true, force: true });
process.disconnect?.();

/** One history twice: whether its log and every call to the disk are the same. */
async function playTwice(seed: number): Promise<void> {
  void tell({ begins: seed });
  const plan = makePlan(seed, near);
  const [one, two] = [await player.play(plan), await player.play(plan)];
  console.log(one.log.join('\n'));
  const isSame = one.digest === two.digest && one.log.join() === two.log.join();
  console.log(isSame ? `twice the same, ${one.digest}` : `not the same: ${one.digest}, then ${two.digest}`);
  if (!isSame)
    await tell({
      found: {
        seed,
        violations: ['played twice, it is not the same'],
        log: two.log,
        operations: { first: 0, shrunk: 0 },
      },
    });
  else if (one.violations.length > 0) await tell({ found: await shortest(plan, one) });
  await tell({ ended: 1 });
}

async function playFor(first: number, step: number, seconds: number): Promise<void> {
  const end = process.hrtime.bigint() + BigInt(Math.round(seconds * 1e9));
  let histories = 0;
  for (let at = first; process.hrtime.bigint() < end; at += step) {
    const seed = seedOf(at, at % MEETINGS.length);
    void tell({ begins: seed });
    const result = await player.play(makePlan(seed, near));
    histories++;
    if (result.violations.length > 0) await tell({ found: await shortest(makePlan(seed, near), result) });
  }
  await tell({ ended: histories });
}

async function shortest(plan: Plan, { seed, violations, log }: Result): Promise<Found> {
  // Of a planted fault it is enough that it is found.
  if (process.env.HISTORIES_PLANT)
    return { seed, violations: [...violations], log, operations: { first: 0, shrunk: 0 } };
  const short = await shrink(plan, async (one) => {
    // It is not stuck.
    void tell({ begins: seed });
    return (await player.play(one)).violations.length > 0;
  });
  const { log: last, violations: left } = await player.play(short);
  const count = ({ lives }: Plan) => lives.reduce((sum, { operations }) => sum + operations.length, 0);
  return {
    seed,
    violations: [...violations],
    log: [...last, ...left],
    operations: { first: count(plan), shrunk: count(short) },
  };
}

/** @returns once it has left: a channel that is closed drops what waits. */
function tell(told: Told): Promise<void> {
  return new Promise((resolve) => process.send!(told, () => resolve()));
}
