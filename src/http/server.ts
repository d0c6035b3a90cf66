import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  BACKLOG_CONNECTIONS,
  CONNECTIONS,
  HEADER_FIELDS,
  HEADERS_BYTES,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  REQUEST_TIMEOUT_MS,
  SHUTDOWN_IDLE_MS,
  SHUTDOWN_MS,
} from '../base/limits.ts';
import { Problem } from '../protocol/errors.ts';
import { AcceptBurst } from './admission/acceptBurst.ts';
import { AdmissionControl } from './admission/admissionControl.ts';
import { Connections } from './connection/connections.ts';
import type { PacedRequest } from './connection/pacedRequest.ts';
import { type HttpServer, type KeyPair, makeServer, renew, TlsHandshakes } from './connection/tls.ts';
import { type IngestContext, IngestHandler } from './ingestHandler.ts';
import { checkPreconditions } from './request/preconditions.ts';

/** How often Node looks at the two above; they act that much late at the most. */
const TIMEOUT_CHECK_MS = 1_000;

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface ListenSocket {
  readonly fd: number;
}

/** What the server works with. */
export interface ServerContext extends IngestContext {
  /** Connections of one client address; 0: no limit. */
  readonly connectionsPerAddress: number;
  /** Where it is to speak TLS. */
  readonly pair?: KeyPair | undefined;
}

/** node:http, or node:https, with every limit set on purpose and every answer ours. */
export class CourtServer {
  readonly #server: HttpServer;
  readonly #handshakes: TlsHandshakes | undefined;
  readonly #ingest: IngestHandler;
  readonly #context: IngestContext;
  readonly #connections: Connections;
  readonly #arrivals = new AcceptBurst();
  #isShared = false;
  #isClosing = false;

  constructor(context: ServerContext) {
    this.#context = context;
    const admission = new AdmissionControl();
    this.#connections = new Connections(context.connectionsPerAddress, admission);
    this.#ingest = new IngestHandler(context, admission, this.#connections, this.#arrivals);
    this.#server = makeServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: TIMEOUT_CHECK_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        maxHeaderSize: HEADERS_BYTES,
        // A missing Host gets our 400 (preconditions.ts), not Node's empty one.
        requireHostHeader: false,
        noDelay: true,
      },
      context.pair,
    );
    if (this.#server instanceof https.Server) {
      this.#handshakes = new TlsHandshakes(
        this.#server,
        (connection, socket) => this.#connections.secured(connection, socket),
        (connection, failure) => context.traffic.handshakeFailed(this.#ingest.mark(connection), failure),
      );
    }
    // One more than is allowed: Node drops what is beyond it without a word (preconditions.ts).
    this.#server.maxHeadersCount = HEADER_FIELDS + 1;
    // The last ones are closed by us, after those that have no right to be there (connections.ts).
    this.#server.maxConnections = 2 * CONNECTIONS;
    // Who closes its side behind a request still waits for the answer; without it Node closes the other side as well.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.on('connection', (socket) => this.#arrive(socket));
    for (const event of ['request', 'checkContinue', 'checkExpectation']) {
      this.#server.on(event, (req, res) => this.#serve(req, res));
    }
    this.#server.on('connect', (req) => this.#refuseTunnel(req));
    this.#server.on('clientError', (error, socket) => this.#refuseBroken(error, socket));
  }

  /** Another certificate, for connections that are made from now on. */
  renew(pair: KeyPair): void {
    renew(this.#server, pair);
  }

  /**
   * @param where an address, or the descriptor of a TCP socket that another process goes on listening with.
   * @returns where it listens, once it does.
   */
  async listen(where: ListenAddress | ListenSocket): Promise<AddressInfo> {
    const server = this.#server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ ...where, backlog: BACKLOG_CONNECTIONS }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    this.#isShared = 'fd' in where;
    const address = server.address();
    if (address !== null && typeof address === 'object') return address;
    server.close();
    throw Object.assign(new Error('not a TCP socket'), { code: 'EINVAL' });
  }

  /**
   * No new connections; what was accepted is answered, with `Connection: close`; idle ones are closed. What waits in a
   * shared socket is left to the process that comes next.
   * @returns when the last connection is gone, after SHUTDOWN_MS at the latest.
   */
  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#connections.isClosing = true;
    if (!this.#isShared) await this.#acceptWaiting();
    const server = this.#server;
    const closed = new Promise<void>((resolve) => {
      // Not http.Server's own close: it also drops accepted connections that have not sent a byte yet.
      net.Server.prototype.close.call(server, () => resolve());
    });
    const idle = setTimeout(async () => {
      // A timer comes before what has arrived is read: a request may be on its way through the kernel.
      await nextTurn();
      await nextTurn();
      server.closeIdleConnections();
      this.#handshakes?.endAll();
    }, SHUTDOWN_IDLE_MS);
    const all = setTimeout(() => this.#connections.destroyAll(), SHUTDOWN_MS);
    await closed;
    clearTimeout(idle);
    clearTimeout(all);
  }

  /** Closing the listening socket resets the connections that the kernel has taken and this process has not. */
  async #acceptWaiting(): Promise<void> {
    const until = performance.now() + SHUTDOWN_IDLE_MS;
    let isWaiting = true;
    const note = () => {
      isWaiting = true;
    };
    this.#server.on('connection', note);
    while (isWaiting && performance.now() < until) {
      isWaiting = false;
      // The event loop accepts one in a turn; the first turn may be half over.
      await nextTurn();
      await nextTurn();
    }
    this.#server.off('connection', note);
  }

  #arrive(socket: net.Socket): void {
    this.#arrivals.connectionCame();
    const connection = this.#connections.arrive(socket);
    if (connection !== undefined) this.#handshakes?.begin(connection, socket);
  }

  #serve(req: PacedRequest, res: ServerResponse): void {
    const connection = this.#connections.of(req.socket);
    if (connection === undefined) req.socket.destroy();
    else connection.next(req, res, () => void this.#ingest.handle(connection, req, res));
  }

  /** CONNECT: Node would close the connection without a word. */
  #refuseTunnel(req: IncomingMessage): void {
    const connection = this.#connections.of(req.socket);
    if (connection === undefined) return void req.socket.destroy();
    if (!connection.letGo()) return;
    try {
      checkPreconditions(req, connection, this.#context.gate);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.#ingest.refuseRaw(connection, error);
    }
  }

  #refuseBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
    const connection = this.#connections.of(socket as net.Socket);
    if (connection === undefined) return void socket.destroy();
    const problem = connection.broken(error);
    if (problem !== undefined) this.#ingest.refuseRaw(connection, problem);
  }
}
