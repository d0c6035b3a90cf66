import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Logger } from 'pino';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { REQUEST_TIMEOUT_MS } from '../base/limits.ts';
import { http } from '../base/nodeHttp.ts';
import { OperatorError } from '../base/operatorError.ts';
import { bindPrivately, giveToGroup, removeStale } from './controlSocket.ts';

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

/**
 * HTTP over `control.sock`, for the commands of this box. Whoever may open it may read the database, too, so nothing here defends the
 * daemon against its clients (ARCHITECTURE.md#control-socket).
 */
export class ControlServer {
  readonly #directory: DataDirectory;
  readonly #routes: readonly ControlRoute[];
  readonly #log: Logger;
  readonly #server: Server;

  /**
   * The caller holds the lock of the directory until `close` has resolved.
   * @param requests the class of the requests that the routes get.
   */
  constructor(
    directory: DataDirectory,
    routes: readonly ControlRoute[],
    log: Logger,
    requests: typeof IncomingMessage = http.IncomingMessage,
  ) {
    this.#directory = directory;
    this.#routes = routes;
    this.#log = log;
    const options = { IncomingMessage: requests, requestTimeout: REQUEST_TIMEOUT_MS };
    this.#server = http.createServer(options, (req, res) => void this.#answer(req, res)).unref();
  }

  /** Resolves once it listens. If the socket cannot be created, that is logged: events are accepted all the same. */
  async listen(): Promise<void> {
    const file = this.#directory.file('controlSocket');
    try {
      removeStale(file);
      const listening = once(this.#server, 'listening');
      // Node binds before `listen` returns, and emits the event later.
      bindPrivately(file, (path) => this.#server.listen({ path }));
      await listening;
      this.#server.on('error', (error) => this.#tell(error));
      giveToGroup(file);
    } catch (error) {
      this.#tell(error as NodeJS.ErrnoException);
    }
  }

  #tell(error: NodeJS.ErrnoException): void {
    this.#log.warn(
      { reason: error instanceof OperatorError ? error.message : (error.code ?? error.message) },
      'control.sock cannot be created, so commands cannot ask this daemon: events are accepted all the same',
    );
  }

  /** Ends every connection, and removes the socket. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { path, query } = targetOf(req);
    const route = this.#routes.find((route) => route.path === path && route.method === req.method);
    if (route === undefined) return answerJson(res, { error: 'There is nothing here.' }, 404);
    try {
      await route.answer(req, res, query);
    } catch (err) {
      this.#log.error({ err, path }, 'a bug in courtd: please report it');
      if (res.headersSent) res.destroy();
      else answerJson(res, { error: 'Something went wrong here: the log has it.' }, 500);
    }
  }
}

/** Splits a request's target. URL would throw for some that Node lets through, such as `//`. */
export function targetOf({ url = '' }: IncomingMessage): { path: string; query: URLSearchParams } {
  const [path = '', ...query] = url.split('?');
  return { path, query: new URLSearchParams(query.join('?')) };
}

/** @returns the body; undefined, with the connection ended, where it has more than `most` bytes or does not say how many. */
export async function bodyOf(req: IncomingMessage, most: number): Promise<string | undefined> {
  if (Number(req.headers['content-length']) <= most) return (await buffer(req)).toString();
  req.destroy();
  return undefined;
}

export function answerJson(res: ServerResponse, value: unknown, status = 200): void {
  const body = JSON.stringify(value);
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  res.end(body);
}
