import path from 'node:path';
import { Command, Option } from 'commander';
import { Workshop } from '../harness/workshop.ts';
import { Box } from './box.ts';
import { missingNeeds } from './needs.ts';
import { makePackages, missingToBuild, type Packages } from './packages.ts';
import { crashes } from './steps/crash.ts';
import { ending } from './steps/end.ts';
import { firstHour } from './steps/install.ts';
import { keeping } from './steps/keeping.ts';
import { shipping } from './steps/shipping.ts';
import { trouble } from './steps/trouble.ts';
import { upgrades } from './steps/upgrade.ts';
import { debianTree, SUITES, type Suite } from './tree.ts';
import { Venue } from './venue.ts';
import { Walk } from './walk.ts';

/**
 * The life of a box, from the stick to the purge: `sudo npm run appliance` (`-- --suite trixie`).
 * Boots Debian 12 and 13 with their own systemd in containers without internet, installs the package, and walks through
 * what happens to a box in its years, while cameras send and it ships to headquarters. After each step everything that was
 * acknowledged must be there, once. A line for each step; exit status 1 where one fails, with the journal's last lines.
 */

const { suite: suites } = new Command('npm run appliance --')
  .description('walks through the life of a box, in containers')
  .addOption(new Option('--suite <name...>', 'on these alone').choices(SUITES).default(SUITES))
  .parse()
  .opts<{ readonly suite: readonly Suite[] }>();
const lacks = missingNeeds() ?? missingToBuild();
if (lacks !== undefined) {
  console.error(`appliance: ${lacks}`);
  process.exit(1);
}

let isSound = false;
try {
  isSound = await walkAll();
} finally {
  // It removes the workshops, and the rest of the containers.
  process.exit(isSound ? 0 : 1);
}

/** @returns whether all went well. */
async function walkAll(): Promise<boolean> {
  const workshop = new Workshop('appliance');
  let packages: Packages | undefined;
  const isMade = await walked(() =>
    new Walk('package').step('made', async () => {
      packages = await makePackages(workshop);
      return `${path.basename(packages.now)}, and a newer one of it`;
    }),
  );
  let failed = isMade ? 0 : 1;
  if (isMade) for (const suite of suites) if (!(await life(suite, packages!))) failed++;
  return failed === 0;
}

/** @returns whether all steps went well; each has said why not. */
async function walked(steps: () => Promise<void>): Promise<boolean> {
  try {
    await steps();
    return true;
  } catch (error) {
    console.error(error);
    return false;
  }
}

/** @returns whether all went well. */
async function life(suite: Suite, packages: Packages): Promise<boolean> {
  const startedAt = performance.now();
  const workshop = new Workshop('appliance');
  const walk = new Walk(suite);
  let venue: Venue | undefined;
  const isSound = await walked(async () => {
    await walk.step('a Debian that boots', async () => {
      const box = new Box(workshop, await debianTree(suite), `courtd-${suite}-${process.pid}`);
      venue = new Venue(box);
      await box.boot();
      return (await box.must('systemctl', '--version')).split('\n')[0]!;
    });
    await firstHour(walk, venue!, packages.now);
    await crashes(walk, venue!);
    await upgrades(walk, venue!, packages);
    await keeping(walk, venue!);
    const mend = await trouble(walk, venue!);
    await shipping(walk, venue!);
    await mend();
    await ending(walk, venue!, packages.now);
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  const all = `${walk.steps} steps in ${seconds} s`;
  if (isSound) console.log(`${suite}: ${all}: nothing that was acknowledged was lost or doubled`);
  else console.error(`${await venue?.lastWords()}\n${suite}: ${all}, and then one step failed`);
  venue?.end();
  workshop.end();
  return isSound;
}
