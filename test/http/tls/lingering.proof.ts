import fs from 'node:fs';
import t from 'tap';
import { makePair } from '../../harness/certificates.ts';
import { Daemon, temporaryFolder } from '../../harness/daemon.ts';
import { newAddress, RawClient, request } from '../../harness/rawClient.ts';
import { speakTls } from '../../harness/transport.ts';

/** A stranger needs no token for this: some forty of these connections once held 280 MiB. */

const RECORDS = 25_000;
const CLIENTS = 4;
/** Shorter than a connection lingers. */
const SENDING_MS = 7_000;

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
  const until = performance.now() + SENDING_MS;
  const sent = clients.map(async (client) => {
    for (let i = 0; i < RECORDS && performance.now() < until; i++) await client.sendAll('x');
  });
  await Promise.all(sent);
  // A record that is kept takes 440 bytes: all of them 42 MiB.
  const taken = memoryMib(daemon) - before;
  t.ok(taken < 25, `${taken} MiB`);
  t.equal((await RawClient.ask(t, daemon, request(daemon, { body: '[]' }))).status, 202, 'it serves on');
});
