import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import readline from 'node:readline';
import { BIN, type Cleanup, cleanEnvironment, type LogLine, start, temporaryFolder } from './daemon.ts';

/** What systemd does for courtd, as far as one needs no systemd for it. */

/** Lines as they come. */
export class Lines<Line> {
  readonly all: Line[] = [];
  readonly #reader: readline.Interface;

  constructor(stream: NodeJS.ReadableStream, parse: (text: string) => Line) {
    this.#reader = readline.createInterface(stream).on('line', (text) => this.all.push(parse(text)));
  }

  /** @returns the first that fits, from the given place on, as soon as it is there. */
  async find(fits: (line: Line) => boolean, from = 0): Promise<Line> {
    for (;;) {
      const found = this.all.slice(from).find(fits);
      if (found !== undefined) return found;
      await once(this.#reader, 'line');
    }
  }
}

/** A program called systemd-notify that writes down what it was told: first on the PATH, it is all that courtd sees of systemd. */
export class FakeSystemd {
  /** The arguments of each call, separated by "|". */
  readonly messages: Lines<string>;
  /** What tells courtd that it is there. */
  readonly env: Record<string, string>;

  /** @param extra shell commands that it runs first. */
  constructor(t: Cleanup, extra = '') {
    const folder = temporaryFolder(t);
    const fifo = path.join(folder, 'messages');
    execFileSync('mkfifo', [fifo]);
    const program = path.join(folder, 'systemd-notify');
    const script = `#!/bin/sh\n${extra}\nIFS='|'\nprintf '%s\\n' "$NOTIFY_SOCKET|$*" >'${fifo}'\n`;
    fs.writeFileSync(program, script, { mode: 0o755 });
    const reader = start('sh', ['-c', 'exec cat <>"$0"', fifo]);
    t.teardown(() => reader.kill('SIGKILL'));
    this.messages = new Lines(reader.stdout, (text) => text);
    this.env = { PATH: `${folder}:${process.env.PATH}`, NOTIFY_SOCKET: '/run/somewhere/notify' };
  }
}

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
