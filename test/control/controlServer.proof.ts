import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { askDaemon } from '../../src/control/controlClient.ts';
import type { DaemonStatus } from '../../src/control/daemonStatus.ts';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';

/** `control.sock`: what the daemon listens on for the commands of its box. */

const socketOf = (data: string) => path.join(data, 'control.sock');
const ask = (data: string) => askDaemon<DaemonStatus>(data, '/v1/status');

/** Waits for what the daemon does by itself within some seconds. */
async function until(t: Test, what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await isSo()) {
      t.pass(what);
      return;
    }
    await sleep(100);
  }
  t.fail(what);
}

/** A connection that stays open, and what has come over it. */
function open(t: Test, data: string): Promise<{ socket: net.Socket; ended: Promise<void> }> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(socketOf(data));
    t.teardown(() => void socket.destroy());
    const ended = new Promise<void>((end) => {
      socket.once('close', () => end());
    });
    socket.once('error', reject);
    socket.once('connect', () => resolve({ socket, ended }));
  });
}

t.test(
  'it belongs to the owner and the group of the directory, is closed to others, and is not on the network',
  async (t) => {
    const daemon = await Daemon.start(t);
    const { mode, uid, gid } = fs.lstatSync(socketOf(daemon.data));
    const directory = fs.statSync(daemon.data);
    t.equal(mode & 0o777, 0o660);
    t.strictSame([uid, gid], [directory.uid, directory.gid]);
    t.match(await ask(daemon.data), { listening: `127.0.0.1:${daemon.port}`, tls: false, is_full: false });
    const overTcp = await fetch(`http://127.0.0.1:${daemon.port}/v1/status`, {
      headers: { Authorization: `Bearer ${daemon.token}` },
    });
    t.equal(overTcp.status, 404);
    await t.rejects(askDaemon(daemon.data, '/v1/other'), /does not know this \(404\)/);
    await t.rejects(askDaemon(daemon.data, '/v1/status', 'POST'), /\(405\)/);
  },
);

t.test('where no daemon runs, or one was killed, nobody answers', async (t) => {
  const data = temporaryFolder(t);
  t.equal(await ask(data), undefined);
  const daemon = await Daemon.start(t, [], data);
  await daemon.stop('SIGKILL');
  t.ok(fs.lstatSync(socketOf(data)).isSocket());
  t.equal(await ask(data), undefined);
});

t.test('a second daemon takes nothing away from the one that lives', async (t) => {
  const daemon = await Daemon.start(t);
  await t.rejects(Daemon.run(t, daemon.data, daemon.token), /Another/);
  t.match(await ask(daemon.data), { listening: `127.0.0.1:${daemon.port}` });
});

t.test('two hundred open connections, and clients that never read, harm nobody', async (t) => {
  const daemon = await Daemon.start(t);
  const opened = await Promise.all(Array.from({ length: 200 }, () => open(t, daemon.data)));
  for (const { socket } of opened.slice(-20)) {
    socket.pause();
    socket.write('GET /v1/status HTTP/1.1\r\nHost: courtd\r\n\r\n'.repeat(200));
  }
  for (const { socket } of opened) socket.on('error', () => {});
  t.match(await ask(daemon.data), { tls: false });
  t.equal((await daemon.post(event())).status, 202);
  await opened[0]!.ended;
  t.pass('the oldest made room');
  t.equal(await daemon.stop(), 0, 'nor do they keep the daemon from its end');
});

for (const [what, put, take] of [
  ['a pipe', (file: string) => execFileSync('mkfifo', [file]), fs.rmSync],
  ['a directory', (file: string) => fs.mkdirSync(file), fs.rmdirSync],
  ['a link', (file: string) => fs.symlinkSync('/dev/null', file), fs.rmSync],
] as const) {
  t.test(
    `${what} in its place keeps no event from being taken, and is told; without it the socket is made`,
    async (t) => {
      const data = temporaryFolder(t);
      put(socketOf(data));
      const daemon = await Daemon.start(t, [], data);
      t.equal((await daemon.post(event())).status, 202);
      t.match(
        daemon.log.find(({ msg }) => msg.startsWith('control.sock'))?.reason,
        /and none of courtd's: remove it/,
      );
      const { status, stderr } = await daemon.command('status');
      t.equal(status, 1);
      t.match(stderr, /control\.sock is .* and none of courtd's/);
      take(socketOf(data));
      await until(t, 'it is there', async () => (await ask(data)) !== undefined);
    },
  );
}

t.test('a socket that somebody removes is made again', async (t) => {
  const daemon = await Daemon.start(t);
  fs.rmSync(socketOf(daemon.data));
  await until(t, 'it is there again', async () => (await ask(daemon.data)) !== undefined);
});

t.test('a directory whose name is too long for a socket: events are taken, and it is told', async (t) => {
  const data = path.join(temporaryFolder(t), 'x'.repeat(110));
  const daemon = await Daemon.start(t, [], data);
  t.equal((await daemon.post(event())).status, 202);
  const { status, stderr } = await daemon.command('status');
  t.equal(status, 1);
  t.match(stderr, /too long for the name of a socket/);
});
