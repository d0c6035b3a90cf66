import fs from 'node:fs';
import { failures, LOAD, type Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';
import { install } from './install.ts';
import { atHeadquarters } from './shipping.ts';

const DATA = '/var/lib/courtd';

/** The box is rebooted while it ships, and in the end courtd is taken off it. */
export async function ending(walk: Walk, venue: Venue, deb: string): Promise<void> {
  const { box } = venue;
  await walk.step('reboot under load', async () => {
    const cameras = venue.open('reboot');
    await cameras.requests(LOAD.some);
    const startedAt = performance.now();
    await box.reboot();
    const seconds = (performance.now() - startedAt) / 1000;
    await venue.close(cameras, 'abandon');
    await venue.expectUp();
    return `back in ${seconds.toFixed(1)} s, and courtd with it; ${await venue.check()}`;
  });

  await walk.step('the plug pulled under load', async () => {
    const cameras = venue.open('plug');
    await cameras.requests(LOAD.some);
    await box.pullPlug();
    await venue.close(cameras, 'abandon');
    await box.boot();
    await venue.expectUp();
    return `every process killed at once; ${await venue.check()}`;
  });

  await walk.step('the cameras come back', async () => {
    const report = await venue.underLoad('plug', LOAD.some, async () => {});
    return `${failures(report)}; ${await venue.check('plug')}; ${await atHeadquarters(venue)}`;
  });

  await walk.step('purge', async () => {
    const said = await box.must('dpkg', '--purge', 'courtd');
    const units = await box.must('systemctl', 'list-units', '--all', '--no-legend', 'courtd*');
    expect(units === '', `units are left: ${units}`);
    expect(said.includes(DATA), `does not say where the events are: ${said}`);
    return said.split('\n').find((line) => line.includes(DATA))!;
  });

  await walk.step('install once more', async () => {
    await install(venue, deb);
    await venue.expectUp();
    return `${await venue.check()}; ${await venue.withoutLoss('again', LOAD.some)}`;
  });

  await walk.step('purge with the events', async () => {
    const said = await box.must('env', 'COURTD_PURGE_DATA=yes', 'dpkg', '--purge', 'courtd');
    expect(!fs.existsSync(box.root + DATA), `${DATA} is still there`);
    return said.split('\n').find((line) => line.includes(DATA)) ?? '';
  });
}
