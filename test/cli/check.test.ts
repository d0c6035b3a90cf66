import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import type { Status } from '../../src/health/boxStatus.ts';
import { makePair } from '../harness/certificates.ts';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { FakeSystemd } from '../harness/fakeSystemd.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

interface Result {
  readonly name: string;
  readonly level: 'ok' | 'warn' | 'fail';
  readonly message: string;
  readonly advice: string;
}

const NAMES = ['settings', 'clock', 'timer', 'backup', 'port', 'sync'];

/** @returns what each look has found. */
async function check(t: Test, system: FakeSystemd, data: string, ...args: string[]) {
  const { status, stdout } = await system.courtd(['check', '--json', '--data', data, ...args]);
  const results = JSON.parse(stdout) as Result[];
  t.equal(status, results.some(({ level }) => level === 'fail') ? 1 : 0, 'the exit status');
  for (const result of results) {
    t.strictSame(Object.keys(result), ['name', 'level', 'message', 'advice']);
    t.equal(result.advice === '', result.level === 'ok', `advice of ${result.name}`);
  }
  return Object.fromEntries(results.map((result) => [result.name, result]));
}

/** A data directory with a token, of no daemon. */
async function stopped(t: Test): Promise<string> {
  const data = path.join(temporaryFolder(t), 'data');
  t.match(await courtd(['token', 'rotate', '--data', data]), { status: 0 });
  return data;
}

t.test('a box that is set up passes, and the check leaves nothing behind', async (t) => {
  const folder = temporaryFolder(t);
  const pair = makePair(folder, 'box');
  const data = path.join(folder, 'data');
  const daemon = await Daemon.start(t, ['--tls-cert', pair.cert, '--tls-key', pair.key], data);
  const system = new FakeSystemd(t);
  system.boot(data, { COURTD_BACKUP_DIR: '/dev/shm', COURTD_KEEP: '0d' });
  const before = fs.readdirSync(data).sort();
  const found = await check(t, system, data);
  t.strictSame(Object.keys(found), NAMES);
  // How fast the disk of a test machine is, nobody knows.
  for (const { name, level, message } of Object.values(found))
    if (name !== 'sync') t.equal(level, 'ok', `${name}: ${message}`);
  t.match(found.sync?.message, / [\d.]+ ms.* \d+ commits/);
  t.match(found.port?.message, `127.0.0.1:${daemon.port}`);
  t.strictSame(fs.readdirSync(data).sort(), before);
  t.strictSame(JSON.parse((await daemon.command('rejections', '--json')).stdout), [], 'it is no camera');
});

t.test('a missing TLS certificate is a warning if other machines reach the box', async (t) => {
  const system = new FakeSystemd(t);
  const near = await Daemon.start(t);
  t.match(await check(t, system, near.data), { port: { level: 'ok' } });
  const far = await Daemon.start(t, ['--host', '0.0.0.0']);
  t.match(await check(t, system, far.data), { port: { level: 'warn', message: 'TLS' } });
});

t.test('check repeats nothing that status reports', async (t) => {
  const system = new FakeSystemd(t);
  const data = await stopped(t);
  await courtd(['token', 'revoke', '1', '--data', data]);
  system.boot(data, { COURTD_MIN_FREE: '900000000GiB' });
  const { problems } = JSON.parse(
    (await system.courtd(['status', '--json', '--data', data])).stdout,
  ) as Status;
  t.ok(problems.length > 0, 'status has something to report');
  const found = Object.values(await check(t, system, data));
  for (const { message, advice } of problems) {
    t.notOk(
      found.some((result) => result.message.includes(message) || result.advice.includes(advice)),
      message,
    );
  }
});

t.test('settings without effect, wrong settings and halves of a pair are found', async (t) => {
  const data = await stopped(t);
  const about = async (settings: Record<string, string>) => {
    const system = new FakeSystemd(t);
    system.boot(data, settings);
    return (await check(t, system, data)).settings!;
  };
  for (const [name, value] of [
    ['COURTD_BODY_LIMIT', '8MB'],
    ['COURTD_LOG_LEVEL', 'loud'],
    ['COURTD_KEEP', '1 year'],
    ['COURTD_BACKUP_KEEP', '0'],
    ['COURTD_TLS_CERT', '/none'],
  ] as const) {
    t.match(await about({ [name]: value }), { level: 'fail', message: name }, name);
  }
  t.match(await about({ COURTD_PORT: '8080' }), { level: 'warn', advice: 'courtd.socket' });
  t.match(await about({ COURTD_VENU: 'v' }), { level: 'warn', message: 'COURTD_VENU ' });
});

t.test('a clock, a timer and a backup that are not set up are found', async (t) => {
  const data = await stopped(t);
  const system = new FakeSystemd(t);
  system.boot(data);
  system.program('timedatectl', 'echo NTPSynchronized=no');
  system.program('systemctl', 'exit 3');
  t.match(await check(t, system, data), {
    clock: { level: 'warn', advice: 'chrony' },
    timer: { level: 'warn', advice: 'enable --now courtd-backup.timer' },
    backup: { level: 'warn', message: 'COURTD_BACKUP_DIR' },
  });
  system.program('timedatectl', 'exit 1');
  system.settings({ COURTD_DATA: data, COURTD_BACKUP_DIR: '/none' });
  t.match(await check(t, system, data), {
    clock: { level: 'warn' },
    backup: { level: 'fail', message: '/none' },
  });
  system.settings({ COURTD_DATA: data, COURTD_BACKUP_DIR: data });
  t.match(await check(t, system, data), { backup: { level: 'warn', message: 'the disk of the events' } });
});
