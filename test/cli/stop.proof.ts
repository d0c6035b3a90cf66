import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { BIN, cleanEnvironment, courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { RawClient, request } from '../harness/rawClient.ts';

runInProcess();

const REQUESTS = 1_000;
const SENDERS = 10;

/** Resolves when the kernel has handed over all signals that were sent to a process. */
async function signalled({ pid }: Daemon['child']): Promise<void> {
  const pending = () => fs.readFileSync(`/proc/${pid}/status`, 'utf8').match(/^(?:Sig|Shd)Pnd:\s*(\w+)$/gm)!;
  while (pending().some((line) => /[1-9a-f]/.test(line.slice(7)))) await nextTurn();
}

t.test(
  'a half-sent request is answered, whatever signals come; an idle client is not waited for',
  async (t) => {
    for (const [first, second] of [
      ['SIGTERM', 'SIGTERM'],
      ['SIGINT', 'SIGTERM'],
    ] as const) {
      const daemon = await Daemon.start(t);
      const [client, idle] = [await RawClient.connect(t, daemon), await RawClient.connect(t, daemon)];
      idle.send(request(daemon, { body: JSON.stringify(event()) }));
      t.equal((await idle.next()).status, 202);
      const body = JSON.stringify(event());
      const headers = { 'content-length': `${body.length}`, expect: '100-continue' };
      client.send(request(daemon, { headers }));
      t.equal((await client.next()).status, 100, 'its head has been read');
      daemon.child.kill(first);
      await daemon.logged(/^stopping/);
      daemon.child.kill(second);
      // Only now, and not much later: 8 s after the first signal every connection is closed.
      await signalled(daemon.child);
      t.equal(await idle.over, null);
      client.send(body);
      t.equal((await client.next()).status, 202, `${first} and ${second}`);
      t.equal(await daemon.exited, 0);
    }
  },
);

t.test('a log reader that has stopped reading holds up neither events nor the end', async (t) => {
  const data = temporaryFolder(t);
  const token = (await courtd(['token', 'rotate', '--data', data])).stdout.trim();
  const args = ['serve', '--data', data, '--host', '127.0.0.1', '--port', '0', '--log-level', 'trace'];
  const child = spawn(BIN, args, { env: cleanEnvironment(), stdio: ['ignore', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  const [first] = await once(child.stdout, 'data');
  // From here on nobody reads: the pipe and its reader hold 64 KiB each, and a request is more than 150 bytes of log.
  child.stdout.pause();
  const { port } = JSON.parse(String(first).split('\n')[0]!);
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  let [sent, answered] = [0, 0];
  const send = async () => {
    while (sent++ < REQUESTS) {
      const response = await fetch(`http://127.0.0.1:${port}/v1/events`, {
        method: 'POST',
        headers,
        body: '[]',
      });
      if (response.status === 202) answered++;
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
  t.equal(answered, REQUESTS);
  child.kill('SIGTERM');
  t.strictSame(await exited, [null, 'SIGKILL'], 'its last lines can never be written');
  t.equal((await courtd(['session', 'list', '--data', data])).status, 0);
});
