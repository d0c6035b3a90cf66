import { once } from 'node:events';
import fs from 'node:fs';
import t, { type Test } from 'tap';
import { makePair } from '../harness/certificates.ts';
import { BIN, cleanEnvironment, Daemon, type LogLine, start, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { FakeNotify } from '../harness/fakeNotify.ts';
import { Lines } from '../harness/lines.ts';
import { trust } from '../harness/transport.ts';

/** Signals that come while courtd starts, after a crash. */

/** @returns a start that has just begun. */
async function starting(t: Test, args: readonly string[] = []) {
  const killed = await Daemon.start(t);
  t.equal((await killed.post(event())).status, 202);
  t.equal((await killed.post(event())).status, 202);
  await killed.stop('SIGKILL');
  const systemd = new FakeNotify(t);
  const serve = ['serve', '--host', '127.0.0.1', '--port', '0', '--data', killed.data];
  const child = start(BIN, [...serve, ...args], { env: cleanEnvironment(systemd.env) });
  const exited = once(child, 'close');
  t.teardown(() => {
    child.kill('SIGKILL');
    return exited;
  });
  const log = new Lines(child.stdout, (text) => JSON.parse(text) as LogLine);
  await systemd.messages.find((message) => message.endsWith('STATUS=starting'));
  const { data, token } = killed;
  return { child, exited, log, data, token };
}

t.test('a certificate that is replaced while it starts is served', async (t) => {
  const folder = temporaryFolder(t);
  const [old, renewed] = [makePair(folder, 'old'), makePair(folder, 'renewed')];
  const { child, log, token } = await starting(t, ['--tls-cert', old.cert, '--tls-key', old.key]);
  fs.copyFileSync(renewed.cert, old.cert);
  fs.copyFileSync(renewed.key, old.key);
  child.kill('SIGHUP');
  await log.find(({ msg, subject }) => msg === 'TLS certificate in use' && subject === 'CN=renewed');
  const { port } = await log.find(({ msg }) => msg === 'listening');
  trust(renewed);
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const url = `https://127.0.0.1:${port}/v1/events`;
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(event()) });
  t.equal(response.status, 202);
});

t.test('SIGTERM and SIGINT end a daemon that starts at once, and systemd counts that as clean', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const { child, exited, log, data, token } = await starting(t);
    child.kill(signal);
    const outcome = await exited;
    // By the signal itself, unless it has just started, and says that it stops.
    const isStopping = log.all.some((line) => line.signal === signal);
    t.strictSame(outcome, isStopping ? [0, null] : [null, signal]);
    const daemon = await Daemon.run(t, data, token);
    t.equal((await daemon.exported('session-1')).length, 2);
  }
});
