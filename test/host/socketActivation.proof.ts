import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import t, { type Test } from 'tap';
import { BoxClient } from '../harness/boxClient.ts';
import { BIN, cleanEnvironment, courtd, type LogLine, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { Lines } from '../harness/lines.ts';

/**
 * Holds a listening socket and starts courtd with it as descriptor 3, each time that courtd has ended. The holder is a shell: it never
 * accepts a connection.
 */
async function holdSocket(t: Test, data: string): Promise<{ port: number; log: Lines<LogLine> }> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
  // $$ of the inner shell is courtd's process id: it is replaced, not forked.
  const serve = `echo "{\\"msg\\":\\"started\\",\\"pid\\":$$}"; LISTEN_FDS=1 LISTEN_FDNAMES=courtd.socket LISTEN_PID=$$ exec "$@"`;
  const script = `trap 'kill -9 $child; exit' TERM; while :; do sh -c '${serve}' sh "$@" & child=$!; wait $child; done`;
  const command = [BIN, 'serve', '--data', data, '--host', '192.0.2.1', '--port', '1', '--rate-limit', '0'];
  const holder = spawn('sh', ['-c', script, 'sh', ...command], {
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit', fd],
  });
  t.teardown(() => holder.kill('SIGTERM'));
  server.close();
  return { port, log: new Lines(holder.stdout!, (text) => JSON.parse(text) as LogLine) };
}

t.test('under load, a restart with the socket held open loses no request', async (t) => {
  const data = temporaryFolder(t);
  const token = (await courtd(['token', 'rotate', '--data', data])).stdout.trim();
  const { port, log } = await holdSocket(t, data);
  const sent: string[] = [];
  const answers: unknown[] = [];
  let isOver = false;
  const kept = new BoxClient(port);
  const senders = Array.from({ length: 16 }, async (_, i) => {
    while (!isOver) {
      const one = event();
      sent.push(one.event_id);
      const client = i % 2 === 0 ? kept : new BoxClient(port);
      const authorization = { Authorization: `Bearer ${token}` };
      answers.push(
        await client.postOnce(one, authorization).then(
          ({ status }) => status,
          ({ code }) => code,
        ),
      );
      if (client !== kept) client.hangUp();
    }
  });
  for (let from = 0, restart = 0; restart < 4; restart++) {
    const { pid } = await log.find(({ msg }) => msg === 'started', from);
    await log.find(({ msg }) => msg === 'listening', from);
    const before = answers.length;
    while (answers.length < before + 200) await new Promise(setImmediate);
    from = log.all.length;
    if (restart < 3) process.kill(pid as number, 'SIGTERM');
  }
  isOver = true;
  await Promise.all(senders);
  t.strictSame(
    answers.filter((answer) => answer !== 202),
    [],
    `of ${answers.length} requests`,
  );
  const { stdout } = await courtd(['export', 'session-1', '--format', 'ndjson', '--data', data]);
  const lines = stdout.split('\n').slice(0, -1);
  t.strictSame(lines.map((text) => JSON.parse(text).event_id).sort(), sent.sort());
});
