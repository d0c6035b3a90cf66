import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { askDaemon } from '../../src/control/controlClient.ts';
import type { DaemonStatus } from '../../src/health/boxStatus.ts';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';

/** `control.sock`: what the daemon listens on for the commands of its box. */

const socketOf = (data: string) => path.join(data, 'control.sock');
const GET = 'GET /v1/status HTTP/1.1\r\nHost: courtd\r\n\r\n';
const ask = (data: string) => askDaemon<DaemonStatus>(new DataDirectory(data), '/v1/status');

t.test(
  'it belongs to the owner and the group of the directory, is closed to others, and is not on the network',
  async (t) => {
    const daemon = await Daemon.start(t);
    const { mode, uid, gid } = fs.lstatSync(socketOf(daemon.data));
    const directory = fs.statSync(daemon.data);
    t.equal(mode & 0o777, 0o660);
    t.strictSame([uid, gid], [directory.uid, directory.gid]);
    t.match(await ask(daemon.data), { listening: `127.0.0.1:${daemon.port}`, tls: false });
    const overTcp = await fetch(`http://127.0.0.1:${daemon.port}/v1/status`, {
      headers: { Authorization: `Bearer ${daemon.token}` },
    });
    t.equal(overTcp.status, 404);
    t.equal(await askDaemon(new DataDirectory(daemon.data), '/v1/other'), undefined);
  },
);

t.test('nobody answers if no daemon runs or one was killed', async (t) => {
  const data = temporaryFolder(t);
  t.equal(await ask(data), undefined);
  const daemon = await Daemon.start(t, [], data);
  await daemon.stop('SIGKILL');
  t.ok(fs.lstatSync(socketOf(data)).isSocket());
  t.equal(await ask(data), undefined);
});

t.test(
  'clients that never end a request, or never read, keep the daemon neither from work nor from its end',
  async (t) => {
    const daemon = await Daemon.start(t);
    for (const text of [
      'POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{',
      GET.repeat(200),
      '',
    ]) {
      const socket = net.connect(socketOf(daemon.data));
      socket.on('error', () => {});
      t.teardown(() => void socket.destroy());
      socket.pause();
      socket.write(text);
    }
    t.match(await ask(daemon.data), { tls: false });
    t.equal((await daemon.post(event())).status, 202);
    t.equal(await daemon.stop(), 0);
  },
);

t.test(
  'a directory in its place is reported, and events are accepted; a start replaces a link',
  async (t) => {
    const data = temporaryFolder(t);
    fs.mkdirSync(socketOf(data));
    const daemon = await Daemon.start(t, [], data);
    t.equal((await daemon.post(event())).status, 202);
    t.ok(daemon.log.find(({ msg }) => msg.startsWith('control.sock cannot be created'))?.reason);
    t.match(await daemon.command('status', '--json'), { status: 1, stdout: /"daemon_hangs"/ });
    t.match(await daemon.command('rejections', 'drop', '--all'), { status: 1, stderr: /does not answer/ });
    await daemon.stop();
    fs.rmdirSync(socketOf(data));
    fs.symlinkSync('/dev/null', socketOf(data));
    await Daemon.run(t, data, daemon.token);
    t.ok(await ask(data));
  },
);
