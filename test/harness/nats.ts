import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { Connector } from '../../src/fleet/nats/connect.ts';
import { type Cleanup, start, temporaryFolder } from './daemon.ts';
import { natsProgram } from './natsProgram.ts';

/** Real servers of NATS JetStream on loopback, one or a cluster of three. */

export interface NatsOptions {
  /** Servers of the cluster; absent: one server. */
  readonly servers?: 1 | 3;
  /** More lines for a server's configuration file. */
  readonly config?: string;
  /** The whole configuration instead, without its log. */
  readonly configure?: (place: NatsPlace) => string;
  /** Of the URL; absent: `nats`. */
  readonly scheme?: 'nats' | 'tls';
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
const PORT_TRIES = 5;
/** Servers are killed and started again. */
const RECONNECT = { maxReconnectAttempts: -1, reconnectTimeWait: 500 };

export class NatsServer {
  readonly configuration: string;
  readonly port: number;
  readonly #program: string;
  readonly #log: string;
  readonly #monitor: string;
  #child: ReturnType<typeof start> | undefined;
  #exited: Promise<unknown> = Promise.resolve();

  /** Writes its configuration, and does not start it. */
  constructor(program: string, place: NatsPlace, configuration: string) {
    this.#program = program;
    this.port = place.port;
    this.#monitor = `http://127.0.0.1:${place.monitorPort}`;
    this.#log = path.join(place.folder, 'nats.log');
    this.configuration = path.join(place.folder, 'nats.conf');
    fs.writeFileSync(this.#log, '');
    fs.writeFileSync(this.configuration, `log_file: "${this.#log}"\n${configuration}\n`);
  }

  /** What it has logged since it was made. */
  get log(): string {
    return fs.readFileSync(this.#log, 'utf8');
  }

  /** Starts it, or starts it again on what it has stored. It is not ready yet. */
  start(): void {
    const child = start(this.#program, ['-c', this.configuration]);
    this.#child = child;
    child.stdout.resume();
    child.stderr.resume();
    this.#exited = new Promise((resolve) => child.once('exit', resolve));
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Kills it. @returns once it has ended. */
  async stop(): Promise<void> {
    this.signal('SIGKILL');
    await this.#exited;
  }

  async restart(): Promise<void> {
    await this.stop();
    this.start();
    await this.ready();
  }

  /** @returns once it serves, JetStream included, and in a cluster knows the leader. @throws {Error} with its log if it has ended. */
  async ready(): Promise<void> {
    for (;;) {
      if (this.#child?.exitCode !== null) throw new Error(`a server has ended:\n${this.log.slice(-2_000)}`);
      const health = (await this.#monitored('/healthz')) as { status?: string } | undefined;
      const jsz = (await this.#monitored('/jsz')) as { meta_cluster?: { leader?: string } } | undefined;
      const hasLeader = jsz !== undefined && jsz.meta_cluster?.leader !== '';
      if (health?.status === 'ok' && hasLeader) return;
      await sleep(POLL_MS);
    }
  }

  /** @returns what the monitoring port reports; undefined if it does not answer, or not with 200. */
  async #monitored(where: string): Promise<unknown> {
    try {
      const response = await fetch(this.#monitor + where, { signal: AbortSignal.timeout(5_000) });
      return response.ok ? await response.json() : undefined;
    } catch {
      return undefined;
    }
  }
}

export class NatsServers {
  readonly servers: readonly NatsServer[];
  /** For COURTD_SHIP_URL and `fleet … URL`. */
  readonly url: string;

  private constructor(servers: readonly NatsServer[], scheme: string) {
    this.servers = servers;
    this.url = servers.map(({ port }) => `${scheme}://127.0.0.1:${port}`).join(',');
  }

  /** Starts them and waits until they are ready; they are killed after the test. */
  static async start(t: Cleanup, options: NatsOptions = {}): Promise<NatsServers> {
    const program = await natsProgram();
    for (let tries = 1; ; tries++) {
      const places = await placesIn(temporaryFolder(t), options.servers ?? 1);
      const configure = options.configure ?? ((place) => usual(place, options.config));
      const servers = places.map((place) => new NatsServer(program, place, configure(place)));
      const stop = () => Promise.all(servers.map((server) => server.stop()));
      t.teardown(stop);
      for (const server of servers) server.start();
      try {
        await Promise.all(servers.map((server) => server.ready()));
        return new NatsServers(servers, options.scheme ?? 'nats');
      } catch (error) {
        const isTaken = servers.some(({ log }) => log.includes('address already in use'));
        if (!isTaken || tries === PORT_TRIES) throw error;
        await stop();
      }
    }
  }

  /** @returns a connection that is closed after the test. */
  async connect(t: Cleanup): Promise<NatsConnection> {
    const nc = await new Connector({ url: this.url }).connect('test', RECONNECT);
    t.teardown(() => nc.close());
    return nc;
  }
}

async function placesIn(folder: string, count: number): Promise<NatsPlace[]> {
  const ports = await freePorts(count * 3);
  const routes = ports.slice(2 * count).map((port) => `nats://127.0.0.1:${port}`);
  return Array.from({ length: count }, (_, i) => {
    const name = `n${i + 1}`;
    const own = path.join(folder, name);
    fs.mkdirSync(own);
    const [port, monitorPort, routePort] = [ports[i]!, ports[count + i]!, ports[2 * count + i]!];
    return { name, folder: own, port, monitorPort, routePort, routes };
  });
}

function usual({ name, folder, port, monitorPort }: NatsPlace, more = ''): string {
  return [
    `server_name: ${name}`,
    `listen: "127.0.0.1:${port}"`,
    `http: "127.0.0.1:${monitorPort}"`,
    `jetstream { store_dir: "${path.join(folder, 'store')}", sync_interval: always }`,
    more,
  ].join('\n');
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
