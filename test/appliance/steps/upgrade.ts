import { type Packages, VERSIONS } from '../packages.ts';
import { LOAD, type Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';
import { install } from './install.ts';

const SETTINGS = '/etc/courtd/courtd.env';
const EDITED = 'COURTD_VENUE=venue-1';
const SERVICE = 'courtd.service';

/** A newer version, the older one again, and one whose database the older one cannot read. */
export async function upgrades(walk: Walk, venue: Venue, packages: Packages): Promise<void> {
  const { box } = venue;
  await walk.step('a setting, and an upgrade under load', async () => {
    await box.must('sh', '-c', `echo ${EDITED} >> ${SETTINGS}`);
    await box.must('systemctl', 'restart', SERVICE);
    await expectSetting(venue);
    const saw = await venue.withoutLoss('upgrade', LOAD.many, () => install(venue, packages.next));
    const version = await box.must('courtd', '--version');
    expect(version === VERSIONS.next, `"courtd --version" says ${version}`);
    await venue.expectUp();
    await expectSetting(venue);
    return `${saw}; ${EDITED} is still obeyed; ${await venue.check('upgrade')}`;
  });

  await walk.step('rollback under load', async () => {
    const saw = await venue.withoutLoss('rollback', LOAD.many, () => install(venue, packages.now));
    await expectSetting(venue);
    return `${saw}; ${await venue.check()}`;
  });

  const before = new Map(venue.acknowledged);
  await walk.step('upgrade with a migration under load', async () => {
    const saw = await venue.withoutLoss('migration', LOAD.many, () => install(venue, packages.migrating));
    const files = (await box.must('ls', '/var/lib/courtd')).split('\n');
    const copy = files.find((name) => name.includes('.layout-'));
    expect(copy !== undefined, `no copy of the database was made: ${files.join(' ')}`);
    return `${saw}; the old database is kept as ${copy}; ${await venue.check('migration')}`;
  });

  await walk.step('rollback behind a migration', async () => {
    await install(venue, packages.now);
    const sentence = (await refusal(venue)) ?? '';
    const copy = /courtd restore ([^\s"]+)/.exec(sentence)?.[1];
    expect(copy !== undefined, `no copy to restore is named: ${sentence}`);
    await box.must('systemctl', 'stop', 'courtd.socket', SERVICE);
    const { status, stderr } = await venue.courtd('restore', copy);
    expect(status === 0, `"courtd restore ${copy}" ended with ${status}: ${stderr}`);
    await box.must('systemctl', 'start', SERVICE);
    return `"${sentence}" - done; ${await venue.check(undefined, before)}`;
  });

  await walk.step('events after the rollback', async () => {
    return `${await venue.withoutLoss('migration', LOAD.some)}; ${await venue.check()}`;
  });
}

/** @returns what the daemon says about a database that it cannot read. */
async function refusal({ box }: Venue): Promise<string | undefined> {
  const lines = await box.must('journalctl', '--unit', SERVICE, '--no-pager', '--output=cat', '--lines=50');
  return lines.split('\n').findLast((line) => line.includes('newer courtd'));
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
