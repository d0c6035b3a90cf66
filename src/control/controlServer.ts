import { once } from 'node:events';
import fs from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { REQUEST_TIMEOUT_MS } from '../base/limits.ts';
import { http } from '../base/nodeHttp.ts';
import { every } from '../base/pause.ts';

const SOCKET_MODE = 0o660;
/** While it is being created: nobody can connect before it has its mode. */
const SOCKET_UMASK = 0o777 & ~SOCKET_MODE;

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
export function jsonRoute(path: string, look: () => unknown): ControlRoute {
  return { method: 'GET', path, answer: (_req, res) => answerJson(res, look()) };
}

/**
 * HTTP over `control.sock`, for the commands of this box. A user who may open it may read the database too, so nothing defends the
 * daemon against its clients (ARCHITECTURE.md#control-socket).
 */
export class ControlServer {
  readonly #directory: DataDirectory;
  readonly #routes: readonly ControlRoute[];
  readonly #log: Logger;
  readonly #server = http
    .createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (req, res) => void this.#answer(req, res))
    .on('error', (error) => this.#tell(error))
    .unref();
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
    const path = this.#directory.file('controlSocket');
    const umask = process.umask(SOCKET_UMASK);
    try {
      // It is left from a daemon that was killed: the caller holds the lock.
      fs.rmSync(path, { force: true });
      // Node binds before `listen` returns, and emits the event later.
      this.#server.listen({ path });
    } catch (error) {
      return this.#tell(error as NodeJS.ErrnoException);
    } finally {
      process.umask(umask);
    }
    await once(this.#server, 'listening').catch(() => {});
  }

  /** Makes the socket again if somebody has removed it. Commands that wait for an answer repeat what they asked. */
  async #lookForSocket(): Promise<void> {
    if (!this.#server.listening || fs.existsSync(this.#directory.file('controlSocket'))) return;
    await this.#end();
    await this.listen();
    this.#log.warn('control.sock was removed: it is made again');
  }

  #tell(error: NodeJS.ErrnoException): void {
    this.#log.warn(
      { reason: error.code ?? error.message },
      'control.sock cannot be created, so commands cannot ask this daemon: events are accepted all the same',
    );
  }

  /** Ends every connection, and removes the socket. */
  async close(): Promise<void> {
    this.#stopLooking();
    await this.#end();
  }

  async #end(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
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
