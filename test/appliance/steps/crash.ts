import { setTimeout as sleep } from 'node:timers/promises';
import { failures, LOAD, type Venue } from '../venue.ts';
import type { Walk } from '../walk.ts';

const SERVICE = 'courtd.service';
/** In the place of the minutes that a hung disk is given. */
const WATCHDOG_S = 2;
const LOOK_MS = 50;

/** The daemon is killed, hangs, and is restarted, while cameras send. */
export async function crashes(walk: Walk, venue: Venue): Promise<void> {
  const { box } = venue;
  /** Sends a signal under load, and waits for another daemon. */
  const replaced = async (session: string, name: string) => {
    const before = await venue.pid();
    let seconds = 0;
    const report = await venue.underLoad(session, LOAD.some, async () => {
      const startedAt = performance.now();
      // To the daemon alone, and not to what it has started.
      await box.must('systemctl', 'kill', '--kill-whom=main', `--signal=${name}`, SERVICE);
      await newDaemon(venue, before);
      seconds = (performance.now() - startedAt) / 1000;
    });
    return `a new one after ${seconds.toFixed(1)} s; ${failures(report)}; ${await venue.check(session)}`;
  };
  await walk.step('kill -9 under load', () => replaced('kill', 'KILL'));
  await walk.step('a blocked daemon under load', async () => {
    await dropIn(venue, `[Service]\nWatchdogSec=${WATCHDOG_S}\n`);
    const saw = await replaced('hang', 'STOP');
    const grep = ['--unit', SERVICE, '--no-pager', '--grep', 'watchdog timeout', '--case-sensitive=no'];
    await box.must('journalctl', ...grep);
    await dropIn(venue, '');
    return saw;
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
