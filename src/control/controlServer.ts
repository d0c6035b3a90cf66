import fs from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { http } from '../base/nodeHttp.ts';
import { OperatorError } from '../base/operatorError.ts';
import { bindPrivately, controlFile, giveToGroup, removeStale } from './controlSocket.ts';

/**
 * Open connections: when all are taken, the oldest that is not being answered makes room, or else the oldest: clients that send half
 * a request, or read no answer, keep nobody out. A person has a few.
 */
export const CONNECTIONS = 64;
/** A connection on which nothing moves, such as that of a client that does not read. */
const IDLE_MS = 10_000;
const HEADERS_MS = 5_000;
const HEADERS_BYTES = 8 * 1024;
/** How often the daemon looks whether its socket is still there. */
const CHECK_MS = 5_000;

/** One thing that commands can ask of the daemon. The list of them is closed, and whoever may ask for one may ask for all. */
export interface ControlRoute {
  readonly method: 'GET' | 'POST';
  /** As in `/v1/status`. */
  readonly path: string;
  /** Answers; what it throws is logged, and answered with 500. */
  answer(req: IncomingMessage, res: ServerResponse, query: URLSearchParams): void | Promise<void>;
}

/** HTTP over `control.sock`, for the commands of this box. That it cannot be made keeps no event from being taken: it is logged, and tried again. */
export class ControlServer {
  readonly #directory: string;
  readonly #routes: readonly ControlRoute[];
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  /** Of the socket that it listens on. */
  #inode: number | undefined;
  #told = '';
  #isClosed = false;

  /** The caller has the lock of the directory, and keeps it until `close` has resolved. */
  constructor(directory: string, routes: readonly ControlRoute[], log: Logger) {
    this.#directory = directory;
    this.#routes = routes;
    this.#log = log;
    this.#timer = setInterval(() => void this.#check(), CHECK_MS).unref();
  }

  /** @returns once it listens, or it is known that it cannot for now. */
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
    const listening = new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.once('listening', resolve);
    });
    // Node binds before it returns, and says so later.
    bindPrivately(controlFile(this.#directory), (file) => server.listen({ path: file }));
    await listening;
    server.on('error', (error) => this.#tell(error));
    // A command that ends does not keep the daemon, nor does this.
    server.unref();
    this.#server = server;
    giveToGroup(controlFile(this.#directory));
    this.#inode = fs.lstatSync(controlFile(this.#directory)).ino;
  }

  /** Somebody may have removed it, or what lay in its place. */
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
    // No command pipelines: Node would make the answers to all that came, for a client that may never read them.
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

  /** Once for each reason. */
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

/** Those that are being answered. */
const BUSY = new WeakSet<Socket>();

/** @returns what a request asks for. URL would throw on some that Node lets through, such as `//`. */
export function targetOf({ url = '' }: IncomingMessage): { path: string; query: URLSearchParams } {
  const [path = '', ...query] = url.split('?');
  return { path, query: new URLSearchParams(query.join('?')) };
}

export function answerJson(res: ServerResponse, value: unknown, status = 200): void {
  const body = JSON.stringify(value);
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  res.end(body);
}
