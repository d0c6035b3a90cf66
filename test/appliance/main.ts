import path from 'node:path';
import { Command, Option } from 'commander';
import { Workshop } from '../harness/workshop.ts';
import { Box } from './box.ts';
import { missingNeeds } from './needs.ts';
import { makePackages, missingToBuild, type Packages } from './packages.ts';
import { badDay } from './steps/badDay.ts';
import { crashes } from './steps/crash.ts';
import { ending } from './steps/end.ts';
import { firstHour } from './steps/install.ts';
import { keeping } from './steps/keeping.ts';
import { shipping } from './steps/shipping.ts';
import { upgrades } from './steps/upgrade.ts';
import { debianTree, SUITES, type Suite } from './tree.ts';
import { LOADS, number, Venue } from './venue.ts';
import { Walk } from './walk.ts';

/**
 * The life of a box, from the stick to the purge: `sudo npm run appliance` (`-- --suite trixie --quick --package FILE.deb`).
 * Boots Debian 12 and 13 with their own systemd in containers without internet, installs the package, and walks through
 * what happens to a box in its years, while cameras send and it ships to headquarters. After each step everything that was acknowledged must be there,
 * once. Beside it a second box has an operator's bad day. A line for each step; exit status 1 where one fails, with the journal's last lines.
 */

interface Options {
  readonly suite: readonly Suite[];
  readonly package?: string;
  readonly quick: boolean;
  readonly name: string;
}

const options = new Command('npm run appliance --')
  .description('walks through the life of a box, in containers')
  .addOption(new Option('--suite <name...>', 'on these alone').choices(SUITES).default(SUITES))
  .option('--package <file>', 'instead of the one that is built of this checkout')
  .option('--quick', 'a tenth of the load', false)
  .option('--name <name>', 'the names of the containers begin with it', 'courtd')
  .parse()
  .opts<Options>();
const lacks = missingNeeds() ?? (options.package === undefined ? missingToBuild() : undefined);
if (lacks !== undefined) {
  console.error(`appliance: ${lacks}`);
  process.exit(1);
}

let isSound = false;
try {
  isSound = await walkAll(options.suite);
} finally {
  // With it go the workshops, and what is left of the containers.
  process.exit(isSound ? 0 : 1);
}

/** @returns whether all went well. */
async function walkAll(suites: readonly Suite[]): Promise<boolean> {
  const workshop = new Workshop('appliance');
  const walk = new Walk('package');
  let packages: Packages | undefined;
  await walk.whole(() =>
    walk.step('made', async () => {
      packages = await makePackages(workshop, options.package);
      return `${path.basename(packages.now)}, and newer ones of it, without and with a migration`;
    }),
  );
  if (packages === undefined) return false;
  let failed = 0;
  for (const suite of suites) if (!(await walkThrough(suite, packages))) failed++;
  return failed === 0;
}

/** The life of a box, and beside it a bad day of another one, which is waiting for the most part. @returns whether all went well. */
async function walkThrough(suite: Suite, packages: Packages): Promise<boolean> {
  const walks = await Promise.all([life(suite, packages), dayOf(suite, packages)]);
  return walks.every((isSound) => isSound);
}

/** @returns whether all went well. */
async function dayOf(suite: Suite, packages: Packages): Promise<boolean> {
  const workshop = new Workshop('appliance');
  const walk = new Walk(`${suite}, a bad day,`);
  let box: Box | undefined;
  const isSound = await walk.whole(async () => {
    box = new Box(workshop, await debianTree(suite), `${options.name}-${suite}-day-${process.pid}`);
    await badDay(walk, box, packages.now, (end) => workshop.onEnd(end));
  });
  if (!isSound) console.error(await box?.journal('courtd.service'));
  workshop.end();
  return isSound;
}

/** @returns whether all went well. */
async function life(suite: Suite, packages: Packages): Promise<boolean> {
  const startedAt = performance.now();
  const workshop = new Workshop('appliance');
  const walk = new Walk(suite);
  let venue: Venue | undefined;
  const isSound = await walk.whole(async () => {
    await walk.step('a Debian that boots', async () => {
      const box = new Box(workshop, await debianTree(suite), `${options.name}-${suite}-${process.pid}`);
      venue = new Venue(box, options.quick ? LOADS.quick : LOADS.full);
      await box.boot();
      return (await box.must('systemctl', '--version')).split('\n')[0]!;
    });
    await firstHour(walk, venue!, packages.now);
    await crashes(walk, venue!);
    await upgrades(walk, venue!, packages);
    await keeping(walk, venue!);
    await shipping(walk, venue!);
    await ending(walk, venue!, packages.now);
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  const { requests, resends } = venue?.totals ?? { requests: 0, resends: 0 };
  const all = `${walk.steps} steps in ${seconds} s, ${number(requests)} requests, ${number(resends)} of them sent again`;
  if (isSound) console.log(`${suite}: ${all}: nothing that was acknowledged was lost or doubled`);
  else console.error(`${await venue?.lastWords()}\n${suite}: ${all}, and then one step failed`);
  venue?.end();
  workshop.end();
  return isSound;
}
