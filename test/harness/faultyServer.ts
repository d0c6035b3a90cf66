import { once } from 'node:events';
import net from 'node:net';
import type { Cleanup } from './daemon.ts';
import { keyOf, type WireKey } from './events.ts';

/** A box, or what is in front of it, at its worst: it cuts, delays and garbles the answers to one request after another. */

/** The fate of one request. */
export interface Fault {
  /** Before the answer is lost, or left out. */
  readonly isStored?: boolean;
  /** Sent in place of an answer. */
  readonly bytes?: string;
  /** Sent a little later, when the client may have continued. */
  readonly late?: string;
  /** What follows: nothing (the default), the end of the connection, or a reset. If it hangs, the client has to give up. */
  readonly how?: 'end' | 'reset' | 'hang';
}

/** @returns an answer of a box or of a proxy. */
export function answer(status: number, body: string, ...headers: string[]): string {
  const lines = [`HTTP/1.1 ${status} Words`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

const LATE_MS = 50;

export class FaultyServer {
  /** By key: as it came first. */
  readonly stored = new Map<string, unknown>();
  /** The text of every request's body. */
  readonly bodies: string[] = [];
  connections = 0;
  readonly #server = net.createServer((socket) => this.#serve(socket));
  readonly #sockets = new Set<net.Socket>();
  readonly #faults: (Fault | undefined)[];

  private constructor(faults: readonly (Fault | undefined)[]) {
    this.#faults = [...faults];
  }

  /** @param faults one per request; without one, and after the last one, it answers as courtd does. */
  static async start(t: Cleanup, faults: readonly (Fault | undefined)[]): Promise<FaultyServer> {
    const box = new FaultyServer(faults);
    box.#server.listen(0, '127.0.0.1');
    await once(box.#server, 'listening');
    t.teardown(() => {
      for (const socket of box.#sockets) socket.destroy();
      box.#server.close();
    });
    return box;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  /** Whether all of the faults have come. */
  get isDone(): boolean {
    return this.#faults.length === 0;
  }

  #serve(socket: net.Socket): void {
    this.connections++;
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    let received: Buffer = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const headEnd = received.indexOf('\r\n\r\n');
      const length = /^content-length: (\d+)/im.exec(received.toString('latin1', 0, headEnd))?.[1];
      const end = headEnd + 4 + Number(length);
      if (headEnd < 0 || received.length < end) return;
      const body = received.toString('utf8', headEnd + 4, end);
      received = received.subarray(end);
      this.#answer(socket, body);
    });
  }

  #answer(socket: net.Socket, body: string): void {
    this.bodies.push(body);
    const fault = this.#faults.shift();
    if (fault === undefined) {
      socket.write(answer(202, this.#store(body)));
      return;
    }
    if (fault.isStored) this.#store(body);
    if (fault.bytes !== undefined) socket.write(fault.bytes);
    if (fault.late !== undefined) setTimeout(() => socket.write(fault.late!), LATE_MS);
    if (fault.how === 'end') socket.end();
    if (fault.how === 'reset') socket.resetAndDestroy();
  }

  #store(body: string): string {
    let [accepted, duplicates] = [0, 0];
    for (const event of JSON.parse(body) as WireKey[]) {
      const key = keyOf(event);
      if (this.stored.has(key)) duplicates++;
      else accepted++;
      if (!this.stored.has(key)) this.stored.set(key, event);
    }
    return JSON.stringify({ accepted, duplicates });
  }
}
