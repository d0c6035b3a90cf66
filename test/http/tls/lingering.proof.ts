import fs from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { makePair } from '../../harness/certificates.ts';
import { Daemon, temporaryFolder } from '../../harness/daemon.ts';
import { newAddress, RawClient, request } from '../../harness/rawClient.ts';
import { speakTls } from '../../harness/transport.ts';

/** A stranger needs no token for this: some forty of these connections once held 280 MiB. */

const RECORDS = 40_000;
const CLIENTS = 4;

function memoryMib({ child }: Daemon): number {
  const status = fs.readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

t.test('a body that is thrown away takes no memory in records of one byte', async (t) => {
  speakTls(makePair(temporaryFolder(t), 'box'));
  const daemon = await Daemon.start(t);
  const clients: RawClient[] = [];
  for (let i = 0; i < CLIENTS; i++) {
    const client = await RawClient.connect(t, daemon, newAddress());
    // The answer is not read: its end would end this side too.
    client.socket.pause();
    const headers = { authorization: 'Bearer wrong', 'content-length': '1000000' };
    await client.sendAll(request(daemon, { headers }));
    clients.push(client);
  }
  t.equal((await RawClient.ask(t, daemon, request(daemon, { body: '[]' }))).status, 202);
  const before = memoryMib(daemon);
  // So that many of them are there at once.
  daemon.child.kill('SIGSTOP');
  const sent = clients.map(async (client) => {
    for (let i = 0; i < RECORDS; i++) await client.sendAll('x');
  });
  await Promise.all(sent);
  daemon.child.kill('SIGCONT');
  await wait(2_000);
  const each = (memoryMib(daemon) - before) / CLIENTS;
  t.ok(each < 4, `${each} MiB for each of them`);
  t.equal((await RawClient.ask(t, daemon, request(daemon, { body: '[]' }))).status, 202, 'it serves on');
});
