import { parseArgs } from 'node:util';
import { Box } from './appliance/box.ts';
import { missingNeeds } from './appliance/needs.ts';
import { crashes } from './appliance/steps/crash.ts';
import { firstHour } from './appliance/steps/install.ts';
import { debianTree, SUITES, type Suite } from './appliance/tree.ts';
import { number, Venue } from './appliance/venue.ts';
import { Walk } from './appliance/walk.ts';
import { Workshop } from './workshop.ts';

const { values } = parseArgs({ options: { suite: { type: 'string', multiple: true }, name: { type: 'string', default: 'courtd' }, old: { type: 'string' } } });
const workshop = new Workshop('appliance');
for (const suite of SUITES) if (!values.suite || values.suite.includes(suite)) await walk(suite);
async function walk(suite: Suite) {
  const w = new Walk(suite);
  let venue: Venue | undefined;
  try {
    let box!: Box;
    await w.step('boot', async () => { box = new Box(workshop, await debianTree(suite), `${values.name}-${suite}-${process.pid}`); await box.boot(); return await box.must('systemctl', '--version').then((s) => s.split('\n')[0]!); });
    venue = new Venue(box);
    await firstHour(w, venue, values.old!);
    await crashes(w, venue);
    await w.step('all', () => venue!.check());
    console.log(number(venue.totals.requests));
  } catch (e) {
    console.log(await venue?.box.journal('courtd.service'));
  }
  venue?.end();
}
