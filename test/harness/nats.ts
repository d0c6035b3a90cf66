import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { Connector } from '../../src/fleet/nats/connect.ts';
import { type Cleanup, start, temporaryFolder } from './daemon.ts';
import { natsProgram } from './natsProgram.ts';

/** Real servers of NATS JetStream on loopback, one or a cluster of three, which can be killed, frozen and started again. */

export interface NatsOptions {
  /** Servers of the cluster; absent: one server. */
  readonly servers?: 1 | 3;
  /** `sync_interval` of JetStream: absent: `always`. */
  readonly syncInterval?: string;
  /** More lines for every server's configuration file: `authorization`, `accounts`, `tls`, `max_payload`. */
  readonly config?: string;
  /** The whole configuration instead, but for its log. */
  readonly configure?: (place: NatsPlace) => string;
  /** Of the URL: absent: `nats`. */
  readonly scheme?: 'nats' | 'tls';
  /** Whether to return before they are ready; absent: not. */
  readonly early?: boolean;
  /** For the servers' files; absent: a folder that goes away. */
  readonly folder?: string;
}

/** Where one of the servers is. */
export interface NatsPlace {
  readonly name: string;
  readonly folder: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly routePort: number;
  /** Of every server of the cluster. */
  readonly routes: readonly string[];
}

/** Below the ports that outgoing connections are given: a port stays free while its server is down. */
const FIRST_PORT = 20_000;
const PORTS_OF_A_PROCESS = 60;
const PROCESSES = 200;
const POLL_MS = 25;
const READY_MS = 120_000;
const PORT_TRIES = 5;

/** What `/varz` says, as far as tests look at it. */
export interface Varz {
  readonly version: string;
  readonly server_id: string;
  readonly [field: string]: unknown;
}

export class NatsServer {
  readonly name: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly folder: string;
  readonly #program: string;
  #child: ReturnType<typeof start> | undefined;
  #exited: Promise<unknown> = Promise.resolve();

  constructor(program: string, name: string, folder: string, port: number, monitorPort: number) {
    this.#program = program;
    this.name = name;
    this.folder = folder;
    this.port = port;
    this.monitorPort = monitorPort;
  }

  get monitor(): string {
    return `http://127.0.0.1:${this.monitorPort}`;
  }

  /** Of the process; undefined while it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get configuration(): string {
    return path.join(this.folder, 'nats.conf');
  }

  /** What it has logged since it was made. */
  get log(): string {
    return fs.readFileSync(path.join(this.folder, 'nats.log'), 'utf8');
  }

  /** Starts it, or starts it again on what it has stored. It is not ready yet. */
  start(): void {
    if (this.#child !== undefined) throw new Error(`${this.name} runs already`);
    const child = start(this.#program, ['-c', this.configuration]);
    this.#child = child;
    child.stdout.resume();
    child.stderr.resume();
    this.#exited = new Promise((resolve) =>
      child.once('exit', (status) => {
        if (this.#child === child) this.#child = undefined;
        resolve(status);
      }),
    );
  }

  /** Ends it. @returns once it is gone. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#child?.kill(signal);
    await this.#exited;
  }

  async restart(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.stop(signal);
    this.start();
    await this.ready();
  }

  /** Stops it in its tracks, with its connections open. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Makes it read its configuration file again, which the caller has changed. It tells of that in its log. */
  async reload(): Promise<void> {
    const before = this.log.length;
    this.#child?.kill('SIGHUP');
    await until(`${this.name} to reload`, () => {
      const said = this.log.slice(before);
      const fault = /\[ERR\] .*reload.*/i.exec(said)?.[0];
      if (fault !== undefined) throw new Error(fault);
      return /Reloaded server configuration/.test(said);
    });
  }

  /** @returns once it serves, JetStream included, and in a cluster knows the leader. */
  async ready(): Promise<void> {
    await until(
      `${this.name} to be ready`,
      async () => {
        if (this.#child === undefined) throw new Error(`${this.name} has ended:\n${this.log.slice(-2_000)}`);
        const health = await this.monitored('/healthz');
        const jsz = (await this.monitored('/jsz')) as { meta_cluster?: { leader?: string } } | undefined;
        if ((health as { status?: string } | undefined)?.status !== 'ok' || jsz === undefined) return false;
        return jsz.meta_cluster === undefined || (jsz.meta_cluster.leader ?? '') !== '';
      },
      () => this.log.slice(-2_000),
    );
  }

  async varz(): Promise<Varz> {
    return (await this.monitored('/varz')) as Varz;
  }

  /** @returns what the monitoring port says; undefined if it does not answer, or not with 200. */
  async monitored(where: string): Promise<unknown> {
    try {
      const response = await fetch(`${this.monitor}${where}`, { signal: AbortSignal.timeout(5_000) });
      return response.ok ? await response.json() : undefined;
    } catch {
      return undefined;
    }
  }
}

/** Servers are killed and started again. */
const RECONNECT = { maxReconnectAttempts: -1, reconnectTimeWait: 500 };

export class NatsServers {
  readonly servers: readonly NatsServer[];
  readonly #scheme: string;

  private constructor(servers: readonly NatsServer[], scheme: string) {
    this.servers = servers;
    this.#scheme = scheme;
  }

  /** Starts them and waits until they are ready; they are killed after the test. */
  static async start(t: Cleanup, options: NatsOptions = {}): Promise<NatsServers> {
    const program = await natsProgram();
    const folder = options.folder ?? temporaryFolder(t);
    for (let tries = 1; ; tries++) {
      const servers = await made(program, path.join(folder, `try-${tries}`), options);
      t.teardown(() => Promise.all(servers.map((server) => server.stop())));
      for (const server of servers) server.start();
      const all = new NatsServers(servers, options.scheme ?? 'nats');
      try {
        if (options.early !== true) await all.ready();
        return all;
      } catch (error) {
        const isTaken = servers.some(({ log }) => log.includes('address already in use'));
        if (!isTaken || tries === PORT_TRIES) throw error;
        await Promise.all(servers.map((server) => server.stop()));
      }
    }
  }

  /** For COURTD_SHIP_URL and `fleet … URL`. */
  get url(): string {
    return this.servers.map(({ port }) => `${this.#scheme}://127.0.0.1:${port}`).join(',');
  }

  async ready(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.ready()));
  }

  /** @returns a connection that is closed after the test. */
  async connect(t: Cleanup): Promise<NatsConnection> {
    const nc = await new Connector({ url: this.url }).connect('test', RECONNECT);
    t.teardown(() => nc.close());
    return nc;
  }

  /** @returns the server that leads a stream; waits for an election that is under way. */
  async leader(stream: string, account = '$G'): Promise<NatsServer> {
    let leader: NatsServer | undefined;
    await until(`a leader of ${stream}`, async () => {
      for (const server of this.servers) {
        const jsz = await server.monitored('/jsz?streams=true&accounts=true');
        const { account_details = [] } = (jsz ?? {}) as { account_details?: AccountDetail[] };
        const streams = account_details.find(({ name }) => name === account)?.stream_detail ?? [];
        const name = streams.find((detail) => detail.name === stream)?.cluster?.leader;
        leader = this.servers.find((other) => other.name === name && other.pid !== undefined);
        if (leader !== undefined) return true;
      }
      return false;
    });
    return leader!;
  }
}

interface AccountDetail {
  readonly name: string;
  readonly stream_detail?: readonly {
    readonly name: string;
    readonly cluster?: { readonly leader?: string };
  }[];
}

/** @returns servers with their configuration files, not started. */
async function made(program: string, folder: string, options: NatsOptions): Promise<NatsServer[]> {
  const count = options.servers ?? 1;
  const ports = await freePorts(count * 3);
  const routes = ports.slice(2 * count);
  return Array.from({ length: count }, (_, index) => {
    const name = `n${index + 1}`;
    const server = new NatsServer(
      program,
      name,
      path.join(folder, name),
      ports[index]!,
      ports[count + index]!,
    );
    fs.mkdirSync(server.folder, { recursive: true });
    const place = {
      name,
      folder: server.folder,
      port: server.port,
      monitorPort: server.monitorPort,
      routePort: routes[index]!,
      routes: routes.map((port) => `nats://127.0.0.1:${port}`),
    };
    const text = options.configure?.(place) ?? usual(place, options);
    fs.writeFileSync(server.configuration, `log_file: "${path.join(server.folder, 'nats.log')}"\n${text}\n`);
    fs.writeFileSync(path.join(server.folder, 'nats.log'), '');
    return server;
  });
}

function usual(
  { name, folder, port, monitorPort, routePort, routes }: NatsPlace,
  options: NatsOptions,
): string {
  const peers = routes.map((route) => `"${route}"`).join(', ');
  const isAlone = routes.length === 1;
  return [
    `server_name: ${name}`,
    `listen: "127.0.0.1:${port}"`,
    `http: "127.0.0.1:${monitorPort}"`,
    `jetstream { store_dir: "${path.join(folder, 'store')}", sync_interval: ${options.syncInterval ?? 'always'} }`,
    isAlone ? '' : `cluster { name: test, listen: "127.0.0.1:${routePort}", routes: [${peers}] }`,
    options.config ?? '',
  ].join('\n');
}

/** Waits for a condition; a test that waits in vain is told what for. */
async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  more: () => string = () => '',
): Promise<void> {
  const end = performance.now() + READY_MS;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`Waited in vain for ${what}. ${more()}`);
    await sleep(POLL_MS);
  }
}

let nextPort = FIRST_PORT + (process.pid % PROCESSES) * PORTS_OF_A_PROCESS;

/** A server of a cluster must know the ports of the others before they start, so none of them can choose its own. */
async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = nextPort++;
    if (nextPort >= FIRST_PORT + PROCESSES * PORTS_OF_A_PROCESS) nextPort = FIRST_PORT;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
