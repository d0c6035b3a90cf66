import fs from 'node:fs';
import path from 'node:path';
import { LOAD, type Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';

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

  await walk.step('first token', async () => {
    venue.token = await box.must('courtd', 'token', 'rotate');
    expect(/^[\w-]{43}$/.test(venue.token), `"courtd token rotate" prints ${venue.token}`);
    return 'made by "courtd token rotate"';
  });

  await walk.step('events in', async () => {
    const saw = await venue.withoutLoss('morning', LOAD.many);
    return `${saw}; ${await venue.check('morning')}`;
  });
}
