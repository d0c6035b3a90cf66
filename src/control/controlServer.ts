import { once } from 'node:events';
import fs from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { http } from '../base/nodeHttp.ts';
import { OperatorError } from '../base/operatorError.ts';
import { bindPrivately, controlFile, giveToGroup, removeStale } from './controlSocket.ts';

/**
 * Open connections; an operator has a few. At the limit the oldest idle one is closed, or else the oldest, so that clients that send
 * half a request, or do not read their answer, keep nobody out.
 */
export const CONNECTIONS = 64;
/** Milliseconds until a connection without traffic is closed, such as that of a client that does not read. */
const IDLE_MS = 10_000;
const HEADERS_MS = 5_000;
const HEADERS_BYTES = 8 * 1024;
/** How often the daemon checks that its socket still exists. */
const CHECK_MS = 5_000;

/** One request that commands may make. Whoever may make one may make all of them. */
export interface ControlRoute {
  readonly method: 'GET' | 'POST';
  /** As in `/v1/status`. */
  readonly path: string;
  /** Whatever it throws is logged, and answered with 500. */
  answer(req: IncomingMessage, res: ServerResponse, query: URLSearchParams): void | Promise<void>;
}

/** `GET path`: what `look` returns, as JSON. */
export function jsonRoute<Answer>(
  path: string,
  look: (query: URLSearchParams) => Answer | Promise<Answer>,
): ControlRoute {
  return { method: 'GET', path, answer: async (_req, res, query) => answerJson(res, await look(query)) };
}

/** HTTP over `control.sock`, for the commands of this box. If the socket cannot be created, events are accepted all the same: that is logged, and tried again. */
export class ControlServer {
  readonly #directory: string;
  readonly #routes: readonly ControlRoute[];
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  /** Of the socket on which it listens. */
  #inode: number | undefined;
  #told = '';
  #isClosed = false;

  /** The caller holds the lock of the directory until `close` has resolved. */
  constructor(directory: string, routes: readonly ControlRoute[], log: Logger) {
    this.#directory = directory;
    this.#routes = routes;
    this.#log = log;
    this.#timer = setInterval(() => void this.#check(), CHECK_MS).unref();
  }

  /** Resolves once it listens, or cannot for now. */
  async listen(): Promise<void> {
    try {
      removeStale(controlFile(this.#directory));
      await this.#bind();
      this.#told = '';
    } catch (error) {
      this.#tell(error as NodeJS.ErrnoException);
    }
  }

  /** Ends every connection, and removes the socket. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#end();
  }

  async #bind(): Promise<void> {
    const server = http.createServer(
      { maxHeaderSize: HEADERS_BYTES, headersTimeout: HEADERS_MS, keepAliveTimeout: HEADERS_MS },
      (req, res) => void this.#answer(req, res),
    );
    server.timeout = IDLE_MS;
    server.on('connection', (socket) => this.#arrive(socket));
    const listening = once(server, 'listening');
    // Node binds before `listen` returns, and emits the event later.
    bindPrivately(controlFile(this.#directory), (file) => server.listen({ path: file }));
    await listening;
    server.on('error', (error) => this.#tell(error));
    server.unref();
    this.#server = server;
    giveToGroup(controlFile(this.#directory));
    this.#inode = fs.lstatSync(controlFile(this.#directory)).ino;
  }

  /** Listens again where somebody has removed the socket, or what was in its place. */
  async #check(): Promise<void> {
    const inode = fs.lstatSync(controlFile(this.#directory), { throwIfNoEntry: false })?.ino;
    if (this.#isClosed || (this.#server !== undefined && inode === this.#inode)) return;
    await this.#end();
    if (!this.#isClosed) await this.listen();
  }

  async #end(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #arrive(socket: Socket): void {
    if (this.#sockets.size >= CONNECTIONS) {
      const [first] = this.#sockets;
      const oldest = [...this.#sockets].find((open) => !BUSY.has(open)) ?? first!;
      oldest.destroy();
      this.#sockets.delete(oldest);
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    // No command pipelines. Node would buffer the answers to all requests, for a client that may never read them.
    if (BUSY.has(req.socket)) return void req.socket.destroy();
    BUSY.add(req.socket);
    res.once('close', () => BUSY.delete(req.socket));
    const { path, query } = targetOf(req);
    const routes = this.#routes.filter((route) => route.path === path);
    const route = routes.find(({ method }) => method === req.method);
    if (route === undefined) {
      const error = routes.length === 0 ? 'There is nothing here.' : `Use ${routes[0]!.method}.`;
      return answerJson(res, { error }, routes.length === 0 ? 404 : 405);
    }
    try {
      await route.answer(req, res, query);
    } catch (err) {
      this.#log.error({ err, path }, 'a bug in courtd: please report it');
      if (res.headersSent) res.destroy();
      else answerJson(res, { error: 'Something went wrong here: the log has it.' }, 500);
    }
  }

  /** Logs a failure, once for each reason. */
  #tell(error: NodeJS.ErrnoException): void {
    const reason = error instanceof OperatorError ? error.message : (error.code ?? error.message);
    if (reason === this.#told) return;
    this.#told = reason;
    this.#log.warn(
      { reason },
      'control.sock cannot be created, so commands cannot ask this daemon: events are accepted all the same',
    );
  }
}

/** Connections whose request is being answered. */
const BUSY = new WeakSet<Socket>();

/** Splits a request's target. URL would throw for some that Node lets through, such as `//`. */
export function targetOf({ url = '' }: IncomingMessage): { path: string; query: URLSearchParams } {
  const [path = '', ...query] = url.split('?');
  return { path, query: new URLSearchParams(query.join('?')) };
}

export function answerJson(res: ServerResponse, value: unknown, status = 200): void {
  const body = JSON.stringify(value);
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  res.end(body);
}
