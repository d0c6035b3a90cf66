import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import t from 'tap';
import {
  BIN,
  type Cleanup,
  cleanEnvironment,
  courtd,
  type LogLine,
  temporaryFolder,
} from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { Lines } from '../harness/lines.ts';

/**
 * Holds a listening socket and starts courtd with it as descriptor 3, again and again as it ends. The holder is a shell:
 * it never accepts a connection.
 */
class SocketHolder {
  readonly port: number;
  readonly log: Lines<LogLine>;
  #pid = 0;

  private constructor(port: number, log: Lines<LogLine>) {
    this.port = port;
    this.log = log;
  }

  static async start(t: Cleanup, data: string, args: readonly string[] = []): Promise<SocketHolder> {
    const server = net.createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as net.AddressInfo;
    const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
    // $$ of the inner shell is courtd's process id: it is replaced, not forked.
    const serve = `echo "{\\"msg\\":\\"started\\",\\"pid\\":$$}"; LISTEN_FDS=1 LISTEN_FDNAMES=courtd.socket LISTEN_PID=$$ exec "$@"`;
    const script = `trap 'kill -9 $child; exit' TERM; while :; do sh -c '${serve}' sh "$@" & child=$!; wait $child; done`;
    const command = [BIN, 'serve', '--data', data, '--host', '192.0.2.1', '--port', '1', ...args];
    const holder = spawn('sh', ['-c', script, 'sh', ...command], {
      env: cleanEnvironment(),
      stdio: ['ignore', 'pipe', 'inherit', fd],
    });
    t.teardown(() => holder.kill('SIGTERM'));
    server.close();
    const held = new SocketHolder(port, new Lines(holder.stdout!, (text) => JSON.parse(text) as LogLine));
    await held.#listening(0);
    return held;
  }

  /** Ends the daemon with a signal, and waits until the next one listens. */
  async restart(signal: NodeJS.Signals): Promise<void> {
    const from = this.log.all.length;
    process.kill(this.#pid, signal);
    await this.#listening(from);
  }

  async #listening(from: number): Promise<void> {
    this.#pid = (await this.log.find(({ msg }) => msg === 'started', from)).pid as number;
    await this.log.find(({ msg }) => msg === 'listening', from);
  }
}

/** Posts an event, on a connection of its own unless there is an agent. @returns the status, or the code of the error. */
function post(
  port: number,
  token: string,
  agent: http.Agent | false,
  sent: object = event(),
): Promise<unknown> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  return new Promise((resolve) => {
    const where = { host: '127.0.0.1', port, path: '/v1/events', method: 'POST', headers, agent };
    const req = http.request(where, (res) => {
      res.resume();
      res.once('end', () => resolve(res.statusCode));
    });
    req.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    req.end(JSON.stringify(sent));
  });
}

async function tokenFor(data: string): Promise<string> {
  return (await courtd(['token', 'rotate', '--data', data])).stdout.trim();
}

t.test('under load, a restart with the socket held open loses no request', async (t) => {
  const data = temporaryFolder(t);
  const token = await tokenFor(data);
  const holder = await SocketHolder.start(t, data, ['--rate-limit', '0']);
  const sent: string[] = [];
  const answers: unknown[] = [];
  let isOver = false;
  const agent = new http.Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const senders = Array.from({ length: 16 }, async (_, i) => {
    while (!isOver) {
      const one = event();
      sent.push(one.event_id);
      answers.push(await post(holder.port, token, i % 2 === 0 ? agent : false, one));
    }
  });
  for (let i = 0; i < 3; i++) {
    const before = answers.length;
    await holder.restart('SIGTERM');
    while (answers.length < before + 200) await new Promise(setImmediate);
  }
  isOver = true;
  await Promise.all(senders);
  const failed = answers.filter((answer) => answer !== 202);
  t.strictSame(failed, [], `of ${answers.length} requests`);
  const { stdout } = await courtd(['export', 'session-1', '--format', 'ndjson', '--data', data]);
  const stored = stdout
    .split('\n')
    .slice(0, -1)
    .map((text) => JSON.parse(text).event_id);
  t.strictSame(stored.sort(), sent.sort());
});

t.test('a client that connects after a kill -9 waits, and the next process serves it', async (t) => {
  const data = temporaryFolder(t);
  const token = await tokenFor(data);
  const holder = await SocketHolder.start(t, data);
  const restarted = holder.restart('SIGKILL');
  const early = Array.from({ length: 20 }, () => post(holder.port, token, false));
  await restarted;
  // A connection that the killed process had taken already is reset: its camera sends the event again.
  for (const answer of await Promise.all(early))
    t.ok([202, 'ECONNRESET'].includes(answer as number), `${answer}`);
  t.equal(await post(holder.port, token, false), 202);
});

interface Passed {
  readonly fd: number;
  readonly count?: string;
  readonly pid?: string;
}

/** Runs serve with a descriptor as its third. @returns its status, and what it said. */
async function serveWith(t: Cleanup, { fd, count = '1', pid = '$$' }: Passed) {
  const serve = ['serve', '--data', temporaryFolder(t), '--host', '127.0.0.1', '--port', '0'];
  const script = `LISTEN_FDS=${count} LISTEN_PID=${pid} exec "$@"`;
  const child = spawn('sh', ['-c', script, 'sh', BIN, ...serve], {
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe', fd],
  });
  const exited = once(child, 'close');
  let [stdout, stderr] = ['', ''];
  child.stderr!.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdout!.on('data', (chunk) => {
    stdout += chunk;
    if (stdout.includes('"listening"')) child.kill('SIGTERM');
  });
  const [status] = await exited;
  return { status, stdout, stderr };
}

t.test('a socket that was passed to another process is not taken', async (t) => {
  const listening = net.createServer().listen(0, '127.0.0.1');
  await once(listening, 'listening');
  t.teardown(() => listening.close());
  const { port } = listening.address() as net.AddressInfo;
  const { fd } = (listening as unknown as { _handle: { fd: number } })._handle;
  const { status, stdout } = await serveWith(t, { fd, pid: '1' });
  t.equal(status, 0);
  const line = JSON.parse(stdout.split('\n')[0]!);
  t.not(line.port, port);
  t.equal(line.socket, undefined);
});
