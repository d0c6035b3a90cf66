import { setTimeout as sleep } from 'node:timers/promises';
import type { AlertMessage } from '../../../src/health/alertMessage.ts';
import type { Status } from '../../../src/health/boxStatus.ts';
import type { CheckResult, StatusProblem } from '../../../src/health/finding.ts';
import type { Box } from '../box.ts';
import { Playing } from '../playing.ts';
import { Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';
import { install } from './install.ts';

const DATA = '/var/lib/courtd';
const DISK = 'size=96m';
const SETTINGS = '/etc/courtd/courtd.env';
/** No disk is mounted there. */
const BACKUPS = '/media/backups';
const FILLER = `${DATA}/film.mkv`;
/** All that courtd-alert.service knows of the box. */
const STATUS_FILE = '/run/courtd/status.json';
/** What courtd-alert.service may write to. */
const TOLD = '/var/lib/courtd-alert';
const LOOK_MS = 500;
const LARGE_BYTES = 200_000;
/** The daemon must have heard a camera for 15 s before it misses it (src/telemetry/sourceState.ts). */
const HEARD_MS = 20_000;
const AS_MEMBER = ['runuser', '-u', 'technician', '--', 'courtd'] as const;

/** What the operator's commands say, run as a member of the group. */
class Operator {
  readonly #box: Box;

  constructor(box: Box) {
    this.#box = box;
  }

  /** @returns the answer of a command that prints JSON. @throws {Broken} if it ends otherwise than it may. */
  async ask<Answer>(statuses: readonly number[], ...args: string[]): Promise<Answer> {
    const { status, stdout, stderr } = await this.#box.run(...AS_MEMBER, ...args);
    const isExpected = status !== null && statuses.includes(status) && stderr === '';
    expect(isExpected, `"courtd ${args.join(' ')}" ended with ${status}: ${stderr}${stdout}`);
    return JSON.parse(stdout) as Answer;
  }

  /** @returns whether that is what status says, with so many cameras that send. */
  async isWell(cameras: number): Promise<boolean> {
    const { problems, sources } = await this.ask<Status>([0, 1], 'status', '--json');
    const sending = sources.filter((source) => source.state === 'sending').length;
    // The service has made the database just now.
    return problems.every(({ code }) => code === 'new_database') && sending === cameras;
  }

  /** @returns once status has found it, with exit status 1. @param source that its message names, if it is about one. */
  async finds(code: string, source = ''): Promise<StatusProblem> {
    for (;;) {
      const { problems } = await this.ask<Status>([0, 1], 'status', '--json');
      const found = problems.find((problem) => problem.code === code);
      if (found === undefined) {
        await sleep(LOOK_MS);
        continue;
      }
      expect(found.message.includes(source), `"courtd status" reports: ${found.message}`);
      const { status } = await this.#box.run(...AS_MEMBER, 'status');
      expect(status === 1, `"courtd status" ended with ${status}`);
      return found;
    }
  }

  /** @returns once status no longer names it. */
  async isOver(code: string): Promise<void> {
    for (;;) {
      const { problems } = await this.ask<Status>([0, 1], 'status', '--json');
      if (!problems.some((problem) => problem.code === code)) return;
      await sleep(LOOK_MS);
    }
  }

  /** @returns what one check has found. */
  async check(name: string): Promise<CheckResult> {
    const results = await this.ask<CheckResult[]>([0, 1], 'check', '--json');
    return results.find((result) => result.name === name)!;
  }
}

/** The worst day of an operator: each problem is found by `courtd status`, and explained by the next command. */
export async function badDay(
  walk: Walk,
  box: Box,
  deb: string,
  onEnd: (end: () => void) => void,
): Promise<void> {
  const venue = new Venue(box);
  const operator = new Operator(box);
  const playing = new Playing();
  onEnd(() => playing.end());
  const join = (camera: number, court: number, noteBytes = 0) => {
    const address = `127.0.0.${camera + 10}`;
    const names = { camera: `camera-${camera}`, court: `court-${court}` };
    playing.start(box.leader, { ...names, address, token: venue.token, noteBytes });
  };
  let heardFrom = 0;

  await walk.step('a morning on which all is well', async () => {
    await box.boot();
    // A disk of its own: it can be filled, and takes nothing from anybody.
    await box.must('mkdir', '-p', DATA);
    await box.must('mount', '-t', 'tmpfs', '-o', DISK, 'data', DATA);
    await install(venue, deb);
    await box.must('useradd', '--groups', 'courtd', 'technician');
    const settings = `COURTD_MIN_FREE=8MiB\\nCOURTD_BACKUP_DIR=${BACKUPS}\\n`;
    await box.must('sh', '-c', `printf '${settings}' >> ${SETTINGS}`);
    await box.must('systemctl', 'restart', 'courtd.service');
    venue.token = (await box.must(...AS_MEMBER, 'token', 'rotate')).trim();
    for (const [camera, court] of [
      [1, 1],
      [2, 1],
      [3, 2],
      [4, 2],
    ] as const) {
      join(camera, court);
    }
    while (!(await operator.isWell(4))) await sleep(LOOK_MS);
    heardFrom = performance.now();
    return 'four cameras send, and "courtd status" finds nothing but that the database is new';
  });

  await walk.step('a backup fails', async () => {
    const { status } = await box.run('systemctl', 'start', 'courtd-backup.service');
    expect(status !== 0, 'it has found a place for it');
    const found = await operator.check('backup');
    expect(
      found.level === 'fail' && found.message.includes(BACKUPS),
      `"courtd check" says: ${found.message}`,
    );
    return found.message;
  });

  await walk.step('a camera dies', async () => {
    const left = HEARD_MS - (performance.now() - heardFrom);
    if (left > 0) await sleep(left);
    await playing.kill('camera-2');
    const { message, advice } = await operator.finds('source_silent', 'camera-2 on court-1');
    const { sources } = await operator.ask<Status>([1], 'status', '--json');
    const dead = sources.filter(({ state }) => state === 'silent').map(({ source }) => source);
    expect(dead.join() === 'camera-2', `silent are: ${dead.join()}`);
    return `${message} ${advice}`;
  });

  await walk.step('somebody is told', async () => {
    // The message comes last: what was seen is whole once there is one.
    const hook = `ls -A ${DATA} > ${TOLD}/seen; tee -a ${TOLD}/messages`;
    // The daemon writes it every 15 s: "courtd status" knew earlier.
    while (!(await box.must('cat', STATUS_FILE)).includes('source_silent')) await sleep(LOOK_MS);
    await box.must('sh', '-c', `printf 'COURTD_ALERT_COMMAND=${hook}\\n' >> ${SETTINGS}`);
    // In the sandbox of the unit, which looks once a minute.
    await box.must('systemctl', 'restart', 'courtd-alert.service');
    while ((await box.run('test', '-s', `${TOLD}/messages`)).status !== 0) await sleep(LOOK_MS);
    const text = await box.must('cat', `${TOLD}/messages`);
    const message = JSON.parse(text) as AlertMessage;
    const told = message.new.map(({ code }) => code);
    expect(told.includes('source_silent'), `told are: ${told.join()}`);
    const seen = await box.must('cat', `${TOLD}/seen`);
    expect(seen === '', `of the data directory it sees: ${seen}`);
    return `one message, from a sandbox that sees nothing of the data directory: ${message.text.split('\n')[1]}`;
  });

  await walk.step('the disk fills', async () => {
    // A member of the group, by mistake. It ends when there is no room.
    await box.run('runuser', '-u', 'technician', '--', 'dd', 'if=/dev/zero', `of=${FILLER}`, 'bs=64k');
    // The room that the log still has in its file would last its neighbours for a minute.
    join(5, 3, LARGE_BYTES);
    const { message } = await operator.finds('disk_full');
    await playing.kill('camera-5');
    await box.must('rm', FILLER);
    await operator.isOver('disk_full');
    return `${message} Gone by itself once there was room`;
  });
  playing.end();
}
