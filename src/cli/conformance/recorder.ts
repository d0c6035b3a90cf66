import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionRecord, Exchange, Recording } from './exchange.ts';

/** Limits of a recording: some twenty minutes of a busy court, in fifty MiB. Later requests are served but not judged. */
const EXCHANGES_MAX = 10_000;
const EVENTS_MAX = 200_000;

/** Names in a query that stand before a token. */
const TOKEN_NAMES = /token|auth|bearer|secret|key/i;

export class Recorder {
  readonly exchanges: Exchange[] = [];
  readonly #connections = new Map<Socket, ConnectionRecord>();
  readonly #ended: ConnectionRecord[] = [];
  /** The latest request of each connection. */
  readonly #latest = new WeakMap<Socket, Exchange>();
  readonly #token: string;
  #events = 0;
  #count = 0;

  constructor(token: string) {
    this.#token = token;
  }

  get recording(): Recording {
    // Nothing is known about what came after the last recorded one.
    const endedAt = this.isFull ? this.exchanges.at(-1)!.at : performance.now();
    const connections = [...this.#ended, ...this.#connections.values()];
    return { endedAt, exchanges: this.exchanges, connections };
  }

  get isFull(): boolean {
    return this.exchanges.length >= EXCHANGES_MAX || this.#events >= EVENTS_MAX;
  }

  /**
   * A request has arrived.
   * @param onAnswered called with its status when the whole answer has been written.
   */
  begin(req: IncomingMessage, res: ServerResponse, onAnswered: (exchange: Exchange) => void): Exchange {
    const connection = this.#connectionOf(req.socket);
    connection.requests++;
    const { url = '' } = req;
    const exchange: Exchange = {
      number: ++this.#count,
      connection: connection.number,
      at: performance.now(),
      wallMs: Date.now(),
      isTokenInUrl: url.includes(this.#token) || namesToken(url),
      events: [],
      named: [],
      isEotFaulty: false,
    };
    this.exchanges.push(exchange);
    this.#latest.set(req.socket, exchange);
    // Node ends the connection after an answer where the request asked for it, or is of HTTP/1.0.
    const isLastOfCamera = !res.shouldKeepAlive;
    const answered = () => {
      if (isCut(exchange)) return;
      exchange.status ??= res.statusCode;
      exchange.answeredAt ??= performance.now();
      if (!res.shouldKeepAlive) connection.endedBy ??= isLastOfCamera ? 'camera' : 'box';
      onAnswered(exchange);
    };
    // Headers that are passed only to writeHead cannot be read afterwards.
    const writeHead = res.writeHead.bind(res) as (
      status: number,
      headers: OutgoingHttpHeaders,
    ) => ServerResponse;
    res.writeHead = ((status: number, headers: OutgoingHttpHeaders) => {
      const told = Number(headers['Retry-After'] ?? Number.NaN);
      if (told >= 0) exchange.toldS = told;
      if (headers.Connection === 'close') connection.endedBy ??= 'box';
      return writeHead(status, headers);
    }) as typeof res.writeHead;
    res.once('finish', answered);
    // An answer before a lingering close emits no `finish`.
    res.once('close', () => {
      if (exchange.answeredAt === undefined && res.headersSent) answered();
    });
    return exchange;
  }

  /** Counts its events towards the limit of the recording. */
  counted({ events }: Exchange): void {
    this.#events += events.length;
  }

  /** This box ends the connection instead of answering. */
  cut(exchange: Exchange, socket: Socket | null): void {
    exchange.answeredAt = performance.now();
    const connection = socket === null ? undefined : this.#connections.get(socket);
    if (connection !== undefined) connection.endedBy ??= 'box';
  }

  #connectionOf(socket: Socket): ConnectionRecord {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const connection: ConnectionRecord = {
      number: this.#connections.size + this.#ended.length + 1,
      requests: 0,
    };
    this.#connections.set(socket, connection);
    const byCamera = () => {
      const { fault, answeredAt } = this.#latest.get(socket) ?? {};
      // The camera may give up on an answer that is delayed on purpose.
      connection.endedBy ??= fault !== undefined && answeredAt === undefined ? 'box' : 'camera';
    };
    socket.once('end', byCamera);
    // A reset.
    socket.once('error', byCamera);
    socket.once('close', () => {
      connection.endedBy ??= 'box';
      this.#connections.delete(socket);
      this.#ended.push(connection);
    });
    return connection;
  }
}

/** @returns whether a URL has a query with a token, by the name of one of its fields: in a time that its length bounds. */
export function namesToken(url: string): boolean {
  const fields = url.split(/[?&]/).slice(1);
  return fields.some((field) => field.includes('=') && TOKEN_NAMES.test(field.split('=', 1)[0]!));
}

function isCut({ fault }: Exchange): boolean {
  return fault === 'dropped' || fault === 'reset';
}
