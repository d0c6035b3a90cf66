import { once } from 'node:events';
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
  SHUTDOWN_MS,
} from '../base/limits.ts';
import type { KeyPair } from '../host/tlsCertificate.ts';
import { AcceptBurst } from './admission/acceptBurst.ts';
import { AdmissionControl } from './admission/admissionControl.ts';
import { Connections } from './connection/connections.ts';
import type { PacedRequest } from './connection/pacedRequest.ts';
import { createServer, type HttpServer, replaceKeyPair, TlsHandshakes } from './connection/tls.ts';
import { type IngestContext, IngestHandler } from './ingestHandler.ts';

/** Milliseconds at shutdown until idle connections are closed: a request may be on its way. */
export const SHUTDOWN_IDLE_MS = 500;
/** How often Node checks HEADERS_TIMEOUT_MS and REQUEST_TIMEOUT_MS: they fire this much late at most. */
const TIMEOUT_CHECK_MS = 1_000;

/** What the server depends on. */
interface ServerContext extends IngestContext {
  /** Open connections that one client address may have; 0: no limit. */
  readonly connectionsPerAddress: number;
  /** Serve TLS with this key pair; without one, plain HTTP. */
  readonly keyPair?: KeyPair | undefined;
}

/** node:http or node:https, with every limit set explicitly and every response written by courtd. */
export class CourtServer {
  readonly #server: HttpServer;
  readonly #handshakes: TlsHandshakes | undefined;
  readonly #ingest: IngestHandler;
  readonly #connections: Connections;
  readonly #acceptBurst = new AcceptBurst();
  #isInherited = false;

  constructor(context: ServerContext) {
    const admission = new AdmissionControl();
    this.#connections = new Connections(context.connectionsPerAddress, admission);
    this.#ingest = new IngestHandler(context, admission, this.#connections, this.#acceptBurst);
    this.#server = createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: TIMEOUT_CHECK_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        maxHeaderSize: HEADERS_BYTES,
        // A missing Host gets our 400 (preconditions.ts), not Node's, which has no body.
        requireHostHeader: false,
        noDelay: true,
      },
      context.keyPair,
    );
    if (this.#server instanceof https.Server) {
      this.#handshakes = new TlsHandshakes(
        this.#server,
        (connection, socket) => {
          this.#connections.useTls(connection, socket);
          context.telemetry.handshakes.succeeded(connection.client);
        },
        ({ client }, failure, wasTried) => {
          context.accessLog.handshakeFailed(client, failure);
          if (wasTried) context.telemetry.handshakeFailed(client, failure);
        },
      );
    }
    // One more than is allowed: Node drops the rest silently, and preconditions.ts must see that there are too many.
    this.#server.maxHeadersCount = HEADER_FIELDS + 1;
    // Above our own limit: connections.ts chooses which connection to close.
    this.#server.maxConnections = 2 * CONNECTIONS;
    // A client that half-closes after its request still waits for the response; without this, Node closes the connection.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.on('connection', (socket) => this.#onConnection(socket));
    for (const event of ['request', 'checkContinue', 'checkExpectation']) {
      this.#server.on(event, (req, res) => this.#onRequest(req, res));
    }
    this.#server.on('connect', (req) => this.#onConnect(req));
    this.#server.on('clientError', (error, socket) => this.#onClientError(error, socket));
  }

  /** Serves another certificate to new connections. Only where the server was made with a key pair. */
  replaceKeyPair(keyPair: KeyPair): void {
    replaceKeyPair(this.#server, keyPair);
  }

  /**
   * @param where an address, or the descriptor of a listening TCP socket that another process (systemd) keeps open.
   * @returns the address, once the server is listening.
   * @throws Node's error of listen(2), such as EADDRINUSE; EINVAL where the descriptor is not a TCP socket.
   */
  async listen(
    where: { readonly host: string; readonly port: number } | { readonly fd: number },
  ): Promise<AddressInfo> {
    const server = this.#server;
    server.listen({ ...where, backlog: BACKLOG_CONNECTIONS });
    await once(server, 'listening');
    this.#isInherited = 'fd' in where;
    const address = server.address();
    if (address !== null && typeof address === 'object') return address;
    server.close();
    throw Object.assign(new Error('not a TCP socket'), { code: 'EINVAL' });
  }

  /** Serves a request that came over `control.sock` as any other; whoever may open that file needs no token. */
  serveLocal(req: PacedRequest, res: ServerResponse): void {
    const connection = this.#connections.get(req.socket) ?? this.#connections.addLocal(req.socket);
    connection.receive(req, res, () => void this.#ingest.handle(connection, req, res));
  }

  /**
   * Graceful shutdown: accepts no new connections, drains the open ones (each response says `Connection: close`) and closes idle
   * ones. Connections in the backlog of an inherited socket are left to the next process.
   * Resolves when the last connection is closed, after SHUTDOWN_MS at the latest. Call it once.
   */
  async close(): Promise<void> {
    this.#connections.isClosing = true;
    // Closing a listening socket resets the connections in its backlog: these are accepted first.
    if (!this.#isInherited) await this.#acceptBurst.untilQuiet(SHUTDOWN_IDLE_MS);
    const server = this.#server;
    const closed = new Promise<void>((resolve) => {
      // Not http.Server's own close: it also drops accepted connections that have not sent a byte yet.
      net.Server.prototype.close.call(server, () => resolve());
    });
    const idleTimer = setTimeout(async () => {
      // Timers run before the poll phase: a request may have arrived in the kernel and not been read yet.
      await nextTurn();
      await nextTurn();
      server.closeIdleConnections();
      this.#handshakes?.destroyAll();
    }, SHUTDOWN_IDLE_MS);
    const deadline = setTimeout(() => this.#connections.destroyAll(), SHUTDOWN_MS);
    await closed;
    clearTimeout(idleTimer);
    clearTimeout(deadline);
  }

  #onConnection(socket: net.Socket): void {
    this.#acceptBurst.onConnection();
    const connection = this.#connections.add(socket);
    if (connection !== undefined) this.#handshakes?.begin(connection, socket);
  }

  #onRequest(req: PacedRequest, res: ServerResponse): void {
    const connection = this.#connections.get(req.socket);
    if (connection === undefined) return void req.socket.destroy();
    connection.receive(req, res, () => void this.#ingest.handle(connection, req, res));
  }

  /** Node would close the connection after a CONNECT, without a response. */
  #onConnect(req: IncomingMessage): void {
    const connection = this.#connections.get(req.socket);
    if (connection === undefined) return void req.socket.destroy();
    if (connection.detach()) this.#ingest.rejectConnect(connection, req);
  }

  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    const connection = this.#connections.get(socket as net.Socket);
    if (connection === undefined) return void socket.destroy();
    const problem = connection.parseFailed(error);
    if (problem !== undefined) this.#ingest.rejectRaw(connection, problem);
  }
}
