import fs from 'node:fs';
import path from 'node:path';
import type { Venue } from '../venue.ts';
import { number } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';

/** As "systemd-analyze security" takes it: ten times the score, which is to be at most 0.5. */
const EXPOSURE_TENTHS = 5;
const SYSTEMD = path.resolve(import.meta.dirname, '../../../systemd');
const UNITS = ['courtd.socket', 'courtd.service'];

/** Puts a file on the stick that an installer brings. @returns its path in the box. */
export function onStick({ box }: Venue, file: string): string {
  const stick = '/media/stick';
  fs.mkdirSync(box.root + stick, { recursive: true });
  const inside = path.join(stick, path.basename(file));
  fs.copyFileSync(file, box.root + inside);
  return inside;
}

/** Installs a package, as its reader would. @returns what dpkg and the package said. */
export async function install(venue: Venue, deb: string): Promise<string> {
  const { status, stdout, stderr } = await venue.box.run('dpkg', '--install', onStick(venue, deb));
  expect(status === 0, `dpkg ended with ${status}: ${stdout}${stderr}`);
  return stdout + stderr;
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
    const { status, stdout, stderr } = await venue.courtd('token', 'rotate');
    expect(
      status === 0 && /^[\w-]{43}\n$/.test(stdout),
      `"courtd token rotate" ended with ${status}: ${stderr}`,
    );
    venue.token = stdout.trim();
    return stderr.trim();
  });

  await walk.step('events in', async () => {
    const saw = await venue.withoutLoss('morning', venue.load.many, async () => {});
    return `${saw}; ${await venue.check('morning')}`;
  });

  await walk.step('what an operator sees', async () => {
    const sessions = JSON.parse((await venue.courtd('session', 'list', '--json')).stdout);
    const [{ session_id, events }] = sessions;
    expect(events === venue.ledger.count(session_id), `"courtd session list" counts ${events} events`);
    return `"courtd session list" counts ${number(events)} events`;
  });
}
