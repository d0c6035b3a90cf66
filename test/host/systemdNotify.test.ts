import fs from 'node:fs';
import path from 'node:path';
import type { Logger } from 'pino';
import t from 'tap';
import { SystemdNotifier } from '../../src/host/systemdNotify.ts';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { FakeNotify } from '../harness/fakeNotify.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const CANNOT_NOTIFY = /^cannot notify systemd/;

t.test('courtd notifies systemd of its start, its readiness and its stop, in this order', async (t) => {
  const systemd = new FakeNotify(t);
  const daemon = await Daemon.start(t, [], undefined, systemd.env);
  await systemd.messages.find((message) => message.includes('READY=1'));
  t.equal((await daemon.post(event())).status, 202);
  t.equal(await daemon.stop(), 0);
  await systemd.messages.find((message) => message.includes('STOPPING=1'));
  t.strictSame(systemd.messages.all, [
    '/run/somewhere/notify|STATUS=starting',
    '/run/somewhere/notify|READY=1|STATUS=listening',
    '/run/somewhere/notify|STOPPING=1|STATUS=stopping: requests in progress are answered first',
  ]);
  t.equal(daemon.timesLogged(CANNOT_NOTIFY), 0);
});

t.test('systemctl status says which setting is wrong, and why a certificate cannot be served', async (t) => {
  const systemd = new FakeNotify(t);
  const serve = ['serve', '--data', temporaryFolder(t)];
  t.equal((await courtd(serve, { ...systemd.env, COURTD_PORT: 'x' })).status, 2);
  await systemd.messages.find((message) =>
    /\|STATUS=option .*COURTD_PORT.* is invalid\. Give a whole/.test(message),
  );
  t.equal((await courtd([...serve, '--tls-cert', '/none', '--tls-key', '/none'], systemd.env)).status, 1);
  await systemd.messages.find((message) => /\|STATUS=Cannot use the TLS certificate \/none /.test(message));
});

t.test('the watchdog is fed several times in its period, as long as the daemon runs', async (t) => {
  const seen = path.join(temporaryFolder(t), 'seen');
  const systemd = new FakeNotify(t, `env >>'${seen}'`);
  const env = { ...systemd.env, WATCHDOG_USEC: '600000', LISTEN_FDS: '1', LISTEN_PID: '1' };
  const daemon = await Daemon.start(t, [], undefined, { ...env, SECRET_OF_THE_BOX: 'x' });
  await systemd.messages.find((message) => message.includes('WATCHDOG=1'));
  const text = fs.readFileSync(seen, 'utf8');
  t.match(text, /^NOTIFY_SOCKET=/m);
  t.notMatch(text, /WATCHDOG|LISTEN_|SECRET/, 'what systemd has put into the environment is not handed on');
  const from = systemd.messages.all.length;
  await systemd.messages.find((message) => message.includes('|WATCHDOG=1'), from);
  t.equal(await daemon.stop(), 0);
  // systemd-notify may outlive the daemon.
  await systemd.messages.find((message) => message.includes('STOPPING=1'));
  const after = systemd.messages.all.findIndex((message) => message.includes('STOPPING=1'));
  t.notOk(systemd.messages.all.slice(after).some((message) => message.includes('WATCHDOG')));
});

t.test(
  'without a check that the store answers, the watchdog is not fed, and that is logged once',
  async (t) => {
    const systemd = new FakeNotify(t);
    process.env.PATH = systemd.env.PATH;
    const said: unknown[][] = [];
    const log = {
      error: (...line: unknown[]) => said.push(line),
      warn: (...line: unknown[]) => said.push(line),
    };
    const env = { ...systemd.env, WATCHDOG_USEC: '30000', WATCHDOG_PID: String(process.pid) };
    const notifier = new SystemdNotifier(log as unknown as Logger, env);
    t.strictSame(Object.keys(env), ['PATH'], 'what systemd has said is taken');
    let checks = 0;
    const broken = new Error('the store is stuck');
    // The first check fails, and the second never comes.
    const stuck = new Promise<void>(() => {});
    const check = () => (++checks === 1 ? Promise.reject(broken) : stuck);
    notifier.ready({ status: () => 'listening', check });
    await systemd.messages.find((message) => message.includes('READY=1'));
    while (checks < 3) await new Promise(setImmediate);
    notifier.stopping();
    await systemd.messages.find((message) => message.includes('STOPPING=1'));
    t.equal(systemd.messages.all.length, 2);
    t.match(said, [[{ err: broken }, /^the store does not answer/]]);
    t.equal(said.length, 1);
  },
);
