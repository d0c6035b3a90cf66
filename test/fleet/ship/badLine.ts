import net from 'node:net';
import { Random } from '../../../src/vendor/simulate/random.ts';
import type { Cleanup } from '../../harness/daemon.ts';

/**
 * A bad line between a box and NATS: an acknowledgement is swallowed and the connection cut, or it comes twice; a chunk is kept back
 * while its sender is cut off, and arrives after the resend has been acknowledged.
 */

const ACK = '"stream":"FLEET"';
const CHUNK = /^HPUB court\.v1\./;
const EXPECTED = 'Nats-Expected-Last-Subject-Sequence';
const LATE_MS = 400;

export interface BadLineOptions {
  readonly seed: number;
  /** The probability of each kind of fault, for each message. */
  readonly faultRate: number;
  /** Takes the condition out of every chunk, which then gets in whatever is there. */
  readonly unconditional?: boolean;
}

export class BadLine {
  readonly url: string;
  /** What it has done, by kind. */
  readonly done: Record<string, number> = {};
  readonly #random: Random;
  readonly #options: BadLineOptions;
  /** Releases the messages that were kept back. */
  readonly #keptBack: (() => void)[] = [];

  private constructor(url: string, options: BadLineOptions) {
    this.url = url;
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  /** @returns a line to each of the servers. @param urls of them, separated by commas. */
  static async to(t: Cleanup, urls: string, options: BadLineOptions): Promise<BadLine> {
    const servers: { listener: net.Server; port: number }[] = [];
    const sockets = new Set<net.Socket>();
    let line: BadLine | undefined;
    for (const url of urls.split(',')) {
      const { hostname, port } = new URL(url);
      const listener = net.createServer((near) => line?.carry(near, Number(port), hostname, sockets));
      await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
      servers.push({ listener, port: (listener.address() as net.AddressInfo).port });
    }
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
      for (const { listener } of servers) listener.close();
    });
    line = new BadLine(servers.map(({ port }) => `nats://127.0.0.1:${port}`).join(','), options);
    return line;
  }

  carry(near: net.Socket, port: number, host: string, sockets: Set<net.Socket>): void {
    const far = net.connect(port, host);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => sockets.delete(socket));
    }
    let isKeptBack = false;
    near.once('close', () => isKeptBack || far.destroy());
    far.once('close', () => near.destroy());
    const toFar = new Frames((frame, head) => {
      const sent = this.#options.unconditional ? withoutCondition(frame) : frame;
      if (!CHUNK.test(head) || !this.#happens('chunk kept back')) return void far.write(sent);
      isKeptBack = true;
      near.destroy();
      this.#keptBack.push(() => far.end(sent));
    });
    const toNear = new Frames((frame) => {
      if (!frame.includes(ACK)) return void near.write(frame);
      // Not within the duplicate_window of its streams, in which the server itself would drop it.
      for (const goOn of this.#keptBack.splice(0)) setTimeout(goOn, LATE_MS);
      if (this.#happens('ack swallowed')) return void near.destroy();
      near.write(frame);
      if (this.#happens('ack twice')) near.write(frame);
    });
    near.on('data', (bytes: Buffer) => toFar.take(bytes));
    far.on('data', (bytes: Buffer) => toNear.take(bytes));
  }

  #happens(what: string): boolean {
    const isSo = this.#random.chance(this.#options.faultRate);
    if (isSo) this.done[what] = (this.done[what] ?? 0) + 1;
    return isSo;
  }
}

/** Cuts a stream of the NATS protocol into its messages. */
class Frames {
  #rest: Buffer = Buffer.alloc(0);
  readonly #on: (frame: Buffer, head: string) => void;

  constructor(on: (frame: Buffer, head: string) => void) {
    this.#on = on;
  }

  take(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const end = this.#rest.indexOf('\r\n');
      if (end < 0) return;
      const head = this.#rest.toString('latin1', 0, end);
      const payload = /^H?(MSG|PUB) /.test(head) ? Number(head.split(' ').at(-1)) + 2 : 0;
      const length = end + 2 + payload;
      if (this.#rest.length < length) return;
      const frame = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      this.#on(frame, head);
    }
  }
}

/** The name of the header becomes one that means nothing, of the same length. */
function withoutCondition(frame: Buffer): Buffer {
  const at = frame.indexOf(EXPECTED);
  if (at < 0) return frame;
  const changed = Buffer.from(frame);
  changed.write('Nobs', at, 'latin1');
  return changed;
}
