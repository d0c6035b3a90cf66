import type net from 'node:net';
import type { Cleanup, Daemon } from './daemon.ts';
import { connect } from './transport.ts';

/** A client that is only a connection: it can say what no HTTP library would. */

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** @returns what fetch got, in the same form. */
export async function answerOf(request: Promise<Response>): Promise<Answer> {
  const response = await request;
  return { status: response.status, headers: response.headers, body: await response.text() };
}

export interface RequestParts {
  readonly line?: string;
  /** Instead of the usual ones, by lower-case name; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Further header lines, as they are. */
  readonly more?: readonly string[];
  readonly body?: string | Buffer;
}

/** @returns the bytes of a request to this daemon: a good one but for what is given. */
export function request(daemon: Pick<Daemon, 'port' | 'token'>, parts: RequestParts = {}): Buffer {
  const { line = 'POST /v1/events HTTP/1.1', headers = {}, more = [], body = '' } = parts;
  const fields = {
    host: `127.0.0.1:${daemon.port}`,
    authorization: `Bearer ${daemon.token}`,
    'content-type': 'application/json',
    'content-length': headers['transfer-encoding'] === undefined ? `${Buffer.byteLength(body)}` : undefined,
    ...headers,
  };
  const sent = Object.entries(fields).filter(([, value]) => value !== undefined);
  const lines = [line, ...sent.map(([name, value]) => `${name}: ${value}`), ...more];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return Buffer.concat([head, typeof body === 'string' ? Buffer.from(body) : body]);
}

let neighbours = 0;

/** @returns an address of this machine that nobody had before: an address that shows wrong tokens is not let in for a second. */
export function newAddress(): string {
  neighbours++;
  return `127.1.${neighbours >> 8}.${neighbours & 255}`;
}

export class RawClient {
  readonly socket: net.Socket;
  /** How the connection ended: null, or the code of its error. */
  readonly over: Promise<string | null>;
  #received: Buffer = Buffer.alloc(0);
  #end: string | null | undefined;
  #wake: () => void = () => {};

  private constructor(socket: net.Socket) {
    this.socket = socket;
    let code: string | null = null;
    socket.on('error', (error: NodeJS.ErrnoException) => {
      code = error.code ?? error.message;
    });
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    this.over = new Promise((resolve) => {
      socket.once('close', () => {
        this.#end = code;
        resolve(code);
        this.#wake();
      });
    });
  }

  /** @param localAddress where the connection comes from: all of 127.0.0.0/8 is this machine. */
  static async connect(t: Cleanup, daemon: Daemon, localAddress = '127.0.0.1'): Promise<RawClient> {
    const to = { host: '127.0.0.1', port: daemon.port, localAddress, noDelay: true };
    const { socket, ready } = await connect(to);
    t.teardown(() => socket.destroy());
    await ready;
    return new RawClient(socket);
  }

  /** Connects, sends this, waits for the first answer, and disconnects. */
  static async ask(
    t: Cleanup,
    daemon: Daemon,
    bytes: string | Buffer,
    localAddress?: string,
  ): Promise<Answer> {
    const client = await RawClient.connect(t, daemon, localAddress);
    client.send(bytes);
    const answer = await client.next();
    client.socket.destroy();
    return answer;
  }

  send(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** Sends, and waits until the kernel has taken it all. */
  async sendAll(bytes: string | Buffer): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** What came and has not been taken by `next`. */
  get unread(): string {
    return this.#received.toString();
  }

  /** @returns the next answer on this connection, once it is whole; a 100 counts as one. */
  async next(): Promise<Answer> {
    for (;;) {
      const answer = this.#take();
      if (answer !== undefined) return answer;
      if (this.#end !== undefined)
        throw new Error(`no answer: ${this.#end ?? 'closed'} after "${this.unread}"`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #take(): Answer | undefined {
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return undefined;
    const [first = '', ...lines] = this.#received.toString('latin1', 0, headEnd).split('\r\n');
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    );
    const bodyEnd = headEnd + 4 + Number(headers.get('content-length') ?? 0);
    if (this.#received.length < bodyEnd) return undefined;
    const body = this.#received.toString('utf8', headEnd + 4, bodyEnd);
    this.#received = this.#received.subarray(bodyEnd);
    return { status: Number(first.split(' ')[1]), headers, body };
  }
}
