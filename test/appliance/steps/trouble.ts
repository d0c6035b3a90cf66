import { setTimeout as sleep } from 'node:timers/promises';
import type { AlertMessage } from '../../../src/health/alertMessage.ts';
import type { Status } from '../../../src/health/boxStatus.ts';
import type { Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';
import { BACKUPS } from './keeping.ts';

const SETTINGS = '/etc/courtd/courtd.env';
const DATA = '/var/lib/courtd';
/** No disk is mounted there. */
const AWAY = '/media/backups';
/** All that courtd-alert.service knows of the box. */
const STATUS_FILE = '/run/courtd/status.json';
/** What courtd-alert.service may write to. */
const TOLD = '/var/lib/courtd-alert';
const CODE = 'backup_failed';
const LOOK_MS = 500;

/** The bad day of an operator who is a member of the group. @returns what is done about it, later: courtd-alert waits for two minutes. */
export async function trouble(walk: Walk, { box }: Venue): Promise<() => Promise<void>> {
  const set = (...lines: string[]) =>
    box.must('sh', '-c', `printf '%s\\n' "$@" >> ${SETTINGS}`, 'sh', ...lines);
  /** @returns whether `courtd status` names it. */
  const isFound = async () => {
    const { stdout } = await box.run('runuser', '-u', 'technician', '--', 'courtd', 'status', '--json');
    return (JSON.parse(stdout) as Status).problems.some(({ code }) => code === CODE);
  };

  await walk.step('a backup fails', async () => {
    await box.must('useradd', '--groups', 'courtd', 'technician');
    expect(!(await isFound()), 'status has found it before it failed');
    // The message comes last: what was seen is whole once there is one.
    const hook = `ls -A ${DATA} > ${TOLD}/seen; tee -a ${TOLD}/messages`;
    await set(`COURTD_BACKUP_DIR=${AWAY}`, `COURTD_ALERT_COMMAND=${hook}`);
    const { status } = await box.run('systemctl', 'start', 'courtd-backup.service');
    expect(status !== 0, 'it has found a place for it');
    expect(await isFound(), '"courtd status" does not report it');
    // The first message has all that is in it by then; the next comes five minutes later.
    while (!(await box.must('cat', STATUS_FILE)).includes(CODE)) await sleep(LOOK_MS);
    await box.must('systemctl', 'restart', 'courtd-alert.service');
    return `there is no ${AWAY}, and "courtd status" reports ${CODE}`;
  });

  return () =>
    walk.step('an alert reports the failed backup, and the operator mends it', async () => {
      while ((await box.run('test', '-s', `${TOLD}/messages`)).status !== 0) await sleep(LOOK_MS);
      const [line = ''] = (await box.must('cat', `${TOLD}/messages`)).split('\n');
      const message = JSON.parse(line) as AlertMessage;
      const codes = message.new.map(({ code }) => code);
      expect(codes.includes(CODE), `told are: ${codes.join()}`);
      const seen = await box.must('cat', `${TOLD}/seen`);
      expect(seen === '', `of the data directory it sees: ${seen}`);
      await set(`COURTD_BACKUP_DIR=${BACKUPS}`, 'COURTD_ALERT_COMMAND=');
      await box.must('systemctl', 'start', 'courtd-backup.service');
      expect(!(await isFound()), '"courtd status" still reports it');
      return `from a sandbox that sees nothing of the data directory: ${message.text.split('\n')[1]}`;
    });
}
