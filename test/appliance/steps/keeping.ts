import { LOAD, type Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';

/** The places that the package's unit allows for backups. */
export const BACKUPS = '/var/backups/courtd';
const SETTINGS = '/etc/courtd/courtd.env';

/** The backup of the night, and what is restored from it. */
export async function keeping(walk: Walk, venue: Venue): Promise<void> {
  const { box } = venue;
  const before = new Map(venue.acknowledged);
  let file = '';

  await walk.step('backup by its timer, under load', async () => {
    await box.must('systemctl', 'is-active', 'courtd-backup.timer');
    await box.must('sh', '-c', `echo COURTD_BACKUP_DIR=${BACKUPS} >> ${SETTINGS}`);
    const saw = await venue.withoutLoss('backup', LOAD.some, () =>
      box.must('systemctl', 'start', 'courtd-backup.service'),
    );
    file = await box.must('find', BACKUPS, '-name', 'courtd-*.db');
    expect(file.split('\n').length === 1 && file !== '', `there are these backups: ${file}`);
    return `${file}; ${saw}; ${await venue.check('backup')}`;
  });

  await walk.step('restore', async () => {
    const running = await venue.courtd('restore', file);
    expect(running.status === 1, `"courtd restore" beside the daemon ended with ${running.status}`);
    // The socket as well: a request that comes in would start the daemon again.
    await box.must('systemctl', 'stop', 'courtd.socket', 'courtd.service');
    const { status, stderr } = await venue.courtd('restore', file);
    expect(status === 0, `"courtd restore" ended with ${status}: ${stderr}`);
    await box.must('systemctl', 'start', 'courtd.service');
    await venue.expectUp();
    return `${stderr.trim().split('\n')[0]}; ${await venue.check(undefined, before)}`;
  });
}
