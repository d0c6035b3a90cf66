import { NEXT, type Packages } from '../packages.ts';
import { LOAD, type Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';
import { install } from './install.ts';

const SETTINGS = '/etc/courtd/courtd.env';
const EDITED = 'COURTD_VENUE=venue-1';
const SERVICE = 'courtd.service';

/** A newer version, and the older one again. */
export async function upgrades(walk: Walk, venue: Venue, packages: Packages): Promise<void> {
  const { box } = venue;
  await walk.step('a setting, and an upgrade under load', async () => {
    await box.must('sh', '-c', `echo ${EDITED} >> ${SETTINGS}`);
    await box.must('systemctl', 'restart', SERVICE);
    await expectSetting(venue);
    const saw = await venue.withoutLoss('upgrade', LOAD.many, () => install(venue, packages.next));
    const version = await box.must('courtd', '--version');
    expect(version === NEXT, `"courtd --version" says ${version}`);
    await venue.expectUp();
    await expectSetting(venue);
    return `${saw}; ${EDITED} is still obeyed; ${await venue.check('upgrade')}`;
  });

  await walk.step('rollback under load', async () => {
    const saw = await venue.withoutLoss('rollback', LOAD.many, () => install(venue, packages.now));
    await expectSetting(venue);
    return `${saw}; ${await venue.check()}`;
  });
}

/** The daemon says at its start which venue it is for. */
async function expectSetting({ box }: Venue): Promise<void> {
  expect((await box.must('cat', SETTINGS)).includes(EDITED), `${SETTINGS} has lost ${EDITED}`);
  const lines = await box.must(
    'journalctl',
    '--unit',
    SERVICE,
    '--no-pager',
    '--output=cat',
    '--grep',
    'listening',
  );
  const last = lines.split('\n').at(-1)!;
  expect(last.includes('"venue":"venue-1"'), `the setting is not obeyed: ${last}`);
}
