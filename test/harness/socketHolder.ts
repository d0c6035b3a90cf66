import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { BIN, type Cleanup, cleanEnvironment, type LogLine } from './daemon.ts';
import { Lines } from './lines.ts';

/**
 * Holds a listening socket and starts courtd with it as descriptor 3, again and again as it ends. The holder is a shell:
 * it never accepts a connection.
 */
export class SocketHolder {
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
