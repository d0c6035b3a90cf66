import fs from 'node:fs';
import path from 'node:path';
import { LOAD, number, type Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';

/** As "systemd-analyze security" takes it: ten times the score, which is to be at most 0.5. */
const EXPOSURE_TENTHS = 5;
const SYSTEMD = path.resolve(import.meta.dirname, '../../../systemd');
const UNITS = ['courtd.socket', 'courtd.service'];

/** Installs a package from a stick, as its reader would. */
export async function install({ box }: Venue, deb: string): Promise<void> {
  const stick = '/media/stick';
  fs.mkdirSync(box.root + stick, { recursive: true });
  const inside = path.join(stick, path.basename(deb));
  fs.copyFileSync(deb, box.root + inside);
  await box.must('dpkg', '--install', inside);
}

/** A box without internet gets courtd, its first token, and its first events. */
export async function firstHour(walk: Walk, venue: Venue, deb: string): Promise<void> {
  const { box } = venue;
  await walk.step('install from a stick, without internet', async () => {
    await install(venue, deb);
    await venue.expectUp();
    const enabled = await box.must('systemctl', 'is-enabled', ...UNITS);
    expect(enabled === 'enabled\nenabled', `not enabled: ${enabled}`);
    return `${(fs.statSync(deb).size / 1e6).toFixed(0)} MB; ${UNITS.join(' and ')} are enabled and active`;
  });

  await walk.step('units', async () => {
    const all = fs.readdirSync(SYSTEMD).filter((name) => /^courtd.*\.(service|socket|timer)$/.test(name));
    await box.must('ls', ...all.map((name) => `/usr/lib/systemd/system/${name}`));
    // Of the manual itself a box without man knows nothing.
    await box.must('systemd-analyze', 'verify', '--man=no', ...UNITS);
    const security = ['security', '--no-pager', `--threshold=${EXPOSURE_TENTHS}`, 'courtd.service'];
    const said = await box.must('systemd-analyze', ...security);
    return `verify is clean, ${/Overall exposure level.*?: ([\d.]+)/.exec(said)?.[1]} exposed`;
  });

  await walk.step('readiness', async () => {
    const [type, text] = [
      await box.show('courtd.service', 'Type'),
      await box.show('courtd.service', 'StatusText'),
    ];
    expect(type === 'notify', `courtd.service has Type=${type}`);
    const failed = await box.must('systemctl', 'list-units', '--failed', '--no-legend', 'courtd*');
    expect(failed === '', `failed units: ${failed}`);
    return `told by the daemon: "${text}"`;
  });

  await walk.step('first token', async () => {
    venue.token = await box.must('courtd', 'token', 'rotate');
    expect(/^[\w-]{43}$/.test(venue.token), `"courtd token rotate" prints ${venue.token}`);
    return 'made by "courtd token rotate"';
  });

  await walk.step('events in', async () => {
    const saw = await venue.withoutLoss('morning', LOAD.many);
    return `${saw}; ${await venue.check('morning')}`;
  });

  await walk.step('what an operator sees', async () => {
    const [{ events }] = JSON.parse(await box.must('courtd', 'session', 'list', '--json'));
    const exported = (await box.must('courtd', 'export', 'morning', '--format', 'ndjson')).split('\n').length;
    const sent = venue.acknowledged.values().reduce((sum, { size }) => sum + size, 0);
    expect(events === sent && exported === sent, `${sent} sent, ${events} listed, ${exported} exported`);
    return `"courtd session list" counts ${number(events)} events, and the export has them`;
  });
}
