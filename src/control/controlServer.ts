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

/** What commands may ask, by its path, such as `/v1/status`. What one throws is logged, and answered with 500. */
export type ControlRoutes = Readonly<
  Record<string, (req: IncomingMessage, res: ServerResponse) => void | Promise<void>>
>;

/** How often it is looked whether the socket is still there. */
const LOOK_MS = 4_000;

/** Answers with what `look` returns, as JSON. */
export function jsonRoute(path: string, look: () => unknown): ControlRoutes {
  return {
    [path]: (_req, res) => {
      res.setHeader('Content-Type', 'application/json').end(JSON.stringify(look()));
    },
  };
}

/**
 * HTTP over `control.sock`, for the commands of this box. A user who may open it may read the database too, so nothing defends the
 * daemon against its clients (ARCHITECTURE.md#control-socket).
 */
export class ControlServer {
  readonly #directory: DataDirectory;
  readonly #routes: ControlRoutes;
  readonly #log: Logger;
  readonly #server = http
    .createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (req, res) => void this.#answer(req, res))
    .on('error', (error) => this.#tell(error))
    .unref();
  readonly #stopLooking = every(LOOK_MS, () => void this.#lookForSocket());

  /** The caller holds the lock of the directory until `close` has resolved. */
  constructor(directory: DataDirectory, routes: ControlRoutes, log: Logger) {
    this.#directory = directory;
    this.#routes = routes;
    this.#log = log;
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
    const route = this.#routes[req.url ?? ''];
    if (route === undefined) return void res.writeHead(404).end();
    try {
      await route(req, res);
    } catch (err) {
      this.#log.error({ err, path: req.url }, 'a bug in courtd: please report it');
      if (res.headersSent) res.destroy();
      else res.writeHead(500).end();
    }
  }
}
