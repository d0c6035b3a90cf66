import { setTimeout as sleep } from 'node:timers/promises';
import { failures, LOAD, type Venue } from '../venue.ts';
import type { Walk } from '../walk.ts';

const SERVICE = 'courtd.service';
/** In the place of the minutes that a hung disk is given. */
const WATCHDOG_S = 2;
const LOOK_MS = 50;

/** The daemon hangs, and is restarted, while cameras send. */
export async function crashes(walk: Walk, venue: Venue): Promise<void> {
  const { box } = venue;
  await walk.step('a blocked daemon under load', async () => {
    await dropIn(venue, `[Service]\nWatchdogSec=${WATCHDOG_S}\n`);
    const before = await venue.pid();
    const report = await venue.underLoad('hang', LOAD.some, async () => {
      // To the daemon alone, and not to what it has started.
      await box.must('systemctl', 'kill', '--kill-whom=main', '--signal=STOP', SERVICE);
      await newDaemon(venue, before);
    });
    const grep = ['--unit', SERVICE, '--no-pager', '--grep', 'watchdog timeout', '--case-sensitive=no'];
    await box.must('journalctl', ...grep);
    await dropIn(venue, '');
    return `a new one; ${failures(report)}; ${await venue.check('hang')}`;
  });
  await walk.step('restart under load', async () => {
    const restart = () => box.must('systemctl', 'restart', SERVICE);
    return `${await venue.withoutLoss('restart', LOAD.many, restart)}; ${await venue.check('restart')}`;
  });
}

/** Takes effect at the next start; so it restarts it. @param text of the drop-in; '' takes it away. */
async function dropIn({ box }: Venue, text: string): Promise<void> {
  await box.must('mkdir', '-p', `/run/systemd/system/${SERVICE}.d`);
  await box.must(
    'sh',
    '-c',
    `printf '%s' "$1" > /run/systemd/system/${SERVICE}.d/appliance.conf`,
    'sh',
    text,
  );
  await box.must('systemctl', 'daemon-reload');
  await box.must('systemctl', 'restart', SERVICE);
}

/** Waits until another one is ready. */
async function newDaemon(venue: Venue, before: string): Promise<void> {
  for (;;) {
    const state = await venue.box.must('systemctl', 'show', SERVICE, '--property=MainPID,ActiveState');
    const { MainPID, ActiveState } = Object.fromEntries(state.split('\n').map((line) => line.split('=')));
    if (ActiveState === 'active' && MainPID !== before && MainPID !== '0') return;
    await sleep(LOOK_MS);
  }
}
