import fs from 'node:fs';
import { Box } from './box.ts';
import { Disk } from './disk.ts';
import { chanceOf, makePlan, type Plan } from './plan.ts';
import { PLANTS } from './plants.ts';
import { shrink } from './shrink.ts';
import { closeAll } from './standIns/sqlite.ts';
import { timeline } from './world.ts';

/**
 * A process that plays histories, started by main.ts with the disk (disk.c) between it and the C library:
 * `player.ts LIBRARY ROOT FIRST STEP SECONDS`. It sends the seed of each to its parent, and ends at the first violation, with status 1;
 * without seconds it plays one history, twice.
 */

const [library, root, first, step, seconds] = process.argv.slice(2);
const LOG_LINES = 60;
/** When each history begins, by the clock of the box. */
const EPOCH_MS = Date.UTC(2026, 2, 14, 15);

const disk = new Disk(library!, root!);
const plant = PLANTS.find(({ name }) => name === process.env.HISTORIES_PLANT);
let box: Box;
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error) => box.uncaught(error));

/** The data directory of a box that has just been set up: making it for each history would take as long as the history. */
const image = new Map<string, Buffer>();
await play({ seed: 0, lives: [] });
for (const name of fs.readdirSync(box!.directory.path))
  image.set(name, fs.readFileSync(box!.directory.at(name)));

const isSound = seconds === undefined ? await playTwice(Number(first)) : await playOn();
disk.close();
fs.rmSync(root!, { recursive: true, force: true });
process.exitCode = isSound ? 0 : 1;
process.disconnect!();

/** @returns the violations of a history; what happened is in the log of its box. */
async function play(plan: Plan): Promise<readonly string[]> {
  const random = chanceOf(plan.seed, 2);
  disk.begin(plan.seed);
  timeline.begin(() => random.next(), EPOCH_MS);
  box = new Box(disk, random);
  fs.mkdirSync(box.directory.path);
  for (const [name, bytes] of image) fs.writeFileSync(box.directory.at(name), bytes);
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
  return box.model.violations;
}

/** @returns whether a history violates nothing, and its log and every call to the disk are the same when it is played again. */
async function playTwice(seed: number): Promise<boolean> {
  const plan = makePlan(seed, plant?.near);
  process.send!(seed);
  const violations = await play(plan);
  const [log, digest] = [box.log.join('\n'), disk.digest];
  console.log(log);
  await play(plan);
  const isSame = disk.digest === digest && box.log.join('\n') === log;
  console.log(isSame ? `twice the same, ${digest}` : `not the same: ${digest}, then ${disk.digest}`);
  if (violations.length > 0) await report(plan, violations);
  return isSame && violations.length === 0;
}

/** @returns whether nothing was violated until the time was over. */
async function playOn(): Promise<boolean> {
  const end = process.hrtime.bigint() + BigInt(Math.round(Number(seconds) * 1e9));
  for (let seed = Number(first); process.hrtime.bigint() < end; seed += Number(step)) {
    process.send!(seed);
    const plan = makePlan(seed, plant?.near);
    const violations = await play(plan);
    if (violations.length === 0) continue;
    await report(plan, violations);
    return false;
  }
  return true;
}

/** Prints a violation, with the shortest history that was found to have one. */
async function report(plan: Plan, violations: readonly string[]): Promise<void> {
  console.log(`seed ${plan.seed}: ${violations.join('; ')}`);
  // Of a planted fault it is enough that it is found.
  if (plant !== undefined) return;
  const short = await shrink(plan, async (one) => {
    process.send!(plan.seed);
    return (await play(one)).length > 0;
  });
  const left = await play(short);
  for (const line of [...box.log, ...left].slice(-LOG_LINES)) console.log(`    ${line}`);
  console.log(`  again: npm run histories -- --seed ${plan.seed}`);
}
