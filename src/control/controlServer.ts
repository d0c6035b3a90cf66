import { once } from 'node:events';
import fs from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { REQUEST_TIMEOUT_MS } from '../base/limits.ts';
import { http } from '../base/nodeHttp.ts';
import { OperatorError } from '../base/operatorError.ts';
import { every } from '../base/pause.ts';
import { bindPrivately, giveToGroup, removeStale } from './controlSocket.ts';

/** One request that commands may make. A user who may make one may make all. */
export interface ControlRoute {
  readonly method: 'GET' | 'POST';
  /** As in `/v1/status`. */
  readonly path: string;
  /** Whatever it throws is logged, and answered with 500. */
  answer(req: IncomingMessage, res: ServerResponse): void | Promise<void>;
}

/** How often it is looked whether the socket is still there. */
const LOOK_MS = 4_000;

/** `GET path`: what `look` returns, as JSON. */
export function jsonRoute(path: string, look: () => Promise<unknown>): ControlRoute {
  return { method: 'GET', path, answer: async (_req, res) => answerJson(res, await look()) };
}

/**
 * HTTP over `control.sock`, for the commands of this box. A user who may open it may read the database too, so nothing defends the
 * daemon against its clients (ARCHITECTURE.md#control-socket).
 */
export class ControlServer {
  readonly #directory: DataDirectory;
  readonly #routes: readonly ControlRoute[];
  readonly #log: Logger;
  /** The last one listens; those before it answer what they have been asked. */
  readonly #servers: Server[] = [];
  readonly #stopLooking: () => void;

  /** The caller holds the lock of the directory until `close` has resolved. */
  constructor(directory: DataDirectory, routes: readonly ControlRoute[], log: Logger) {
    this.#directory = directory;
    this.#routes = routes;
    this.#log = log;
    this.#stopLooking = every(LOOK_MS, () => void this.#lookForSocket());
  }

  /** Resolves once it listens. If the socket cannot be created, that is logged: events are accepted all the same. */
  async listen(): Promise<void> {
    const file = this.#directory.file('controlSocket');
    const options = { requestTimeout: REQUEST_TIMEOUT_MS };
    const server = http.createServer(options, (req, res) => void this.#answer(req, res)).unref();
    this.#servers.push(server);
    try {
      removeStale(file);
      const listening = once(server, 'listening');
      // Node binds before `listen` returns, and emits the event later.
      bindPrivately(file, (path) => server.listen({ path }));
      await listening;
      server.on('error', (error) => this.#tell(error));
      giveToGroup(file);
    } catch (error) {
      this.#tell(error as NodeJS.ErrnoException);
    }
  }

  /** Makes the socket again if somebody has removed it. */
  async #lookForSocket(): Promise<void> {
    const server = this.#servers.at(-1);
    if (!server?.listening || fs.existsSync(this.#directory.file('controlSocket'))) return;
    server.close(() => this.#servers.splice(this.#servers.indexOf(server), 1));
    await this.listen();
    this.#log.warn('control.sock was removed: it is made again');
  }

  #tell(error: NodeJS.ErrnoException): void {
    this.#log.warn(
      { reason: error instanceof OperatorError ? error.message : (error.code ?? error.message) },
      'control.sock cannot be created, so commands cannot ask this daemon: events are accepted all the same',
    );
  }

  /** Ends every connection, and removes the socket. */
  async close(): Promise<void> {
    this.#stopLooking();
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)));
    for (const server of this.#servers) server.closeAllConnections();
    await Promise.all(closed);
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { url: path, method } = req;
    const route = this.#routes.find((route) => route.path === path && route.method === method);
    if (route === undefined) return answerJson(res, { error: 'There is nothing here.' }, 404);
    try {
      await route.answer(req, res);
    } catch (err) {
      this.#log.error({ err, path }, 'a bug in courtd: please report it');
      if (res.headersSent) res.destroy();
      else answerJson(res, { error: 'Something went wrong here: the log has it.' }, 500);
    }
  }
}

export function answerJson(res: ServerResponse, value: unknown, status = 200): void {
  const body = JSON.stringify(value);
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  res.end(body);
}
