import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as setTimer } from 'node:timers/promises';
import * as limits from '../base/limits.ts';
import type { KeyPair } from '../host/tlsCertificate.ts';
import { Admission } from './admission.ts';
import type { Connection } from './connection.ts';
import { Connections } from './connections.ts';
import { type IngestContext, IngestHandler } from './handler.ts';
import type { ParseFailure } from './parseErrors.ts';
import { contextOptions, createServer, followHandshakes, type HttpServer } from './tls.ts';

/** Milliseconds at shutdown for requests on their way on open connections, if there are any, and again for new connections. */
export const SHUTDOWN_IDLE_MS = 500;
/** How often Node checks HEADERS_TIMEOUT_MS and REQUEST_TIMEOUT_MS: they fire this much late at most. */
const TIMEOUT_CHECK_MS = 1_000;

/** What the server depends on. */
interface ServerContext extends IngestContext {
  /** Requests a second from one client address; 0: no limit. */
  readonly rateLimit: number;
  /** Open connections that one client address may have; 0: no limit. */
  readonly connectionsPerAddress: number;
  /** Serve TLS with this key pair; without one, plain HTTP. */
  readonly keyPair?: KeyPair | undefined;
}

/** node:http or node:https, with every limit set explicitly and every response written by courtd. */
export class CourtServer {
  readonly #server: HttpServer;
  readonly #handshakes: ReadonlyMap<string, Socket> = new Map();
  readonly #ingest: IngestHandler;
  readonly #connections: Connections;

  constructor(context: ServerContext) {
    this.#connections = new Connections(context.connectionsPerAddress, new Admission(context.rateLimit));
    this.#ingest = new IngestHandler(context, this.#connections);
    this.#server = createServer(
      {
        headersTimeout: limits.HEADERS_TIMEOUT_MS,
        requestTimeout: limits.REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: TIMEOUT_CHECK_MS,
        keepAliveTimeout: limits.KEEP_ALIVE_MS,
        maxHeaderSize: limits.HEADERS_BYTES,
        highWaterMark: 16 * 1024, // Each chunk of a waiting body, even of one byte, is a Buffer of some 400 bytes.
        // A missing Host gets our 400 (preconditions.ts), not Node's, which has no body.
        requireHostHeader: false,
        // A request that offers an upgrade is an ordinary one.
        shouldUpgradeCallback: () => false,
      },
      context.keyPair,
    );
    // One more than is allowed: Node drops the rest silently, and preconditions.ts must see that there are too many.
    this.#server.maxHeadersCount = limits.HEADER_FIELDS + 1;
    // A client that half-closes after its request still waits for the response; without this, Node closes the connection.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.timeout = limits.SILENCE_MS;
    this.#server.on('connection', (socket) => void this.#connections.add(socket));
    if (this.#server instanceof https.Server)
      this.#handshakes = followHandshakes(this.#server, this.#connections, context.accessLog);
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      this.#server.on(event, (req, res) => this.#onRequest(req, res));
    this.#server.on('connect', (req) => this.#onConnect(req));
    this.#server.on('clientError', (error, socket) => this.#onClientError(error, socket));
  }

  /** Serves another certificate to new connections; open ones keep theirs. Only if the server was made with one. */
  replaceKeyPair(keyPair: KeyPair): void {
    if (this.#server instanceof https.Server) this.#server.setSecureContext(contextOptions(keyPair));
  }

  /**
   * @param where an address, or the descriptor of a listening TCP socket that another process (systemd) keeps open.
   * @returns the address, once the server is listening.
   * @throws Node's error of listen(2), such as EADDRINUSE; EINVAL if the descriptor is not a TCP socket.
   */
  async listen(
    where: { readonly host: string; readonly port: number } | { readonly fd: number },
  ): Promise<AddressInfo> {
    this.#server.listen({ ...where, backlog: limits.BACKLOG_CONNECTIONS });
    await once(this.#server, 'listening');
    const address = this.#server.address();
    if (address !== null && typeof address === 'object') return address;
    this.#server.close();
    throw Object.assign(new Error('not a TCP socket'), { code: 'EINVAL' });
  }

  /** Serves a request that came over `control.sock` as any other. A user who may open that file needs no token. */
  serveLocal(req: IncomingMessage, res: ServerResponse): void {
    this.#serve(this.#connections.local(req.socket), req, res);
  }

  /**
   * Graceful shutdown: first each response says `Connection: close`; then no more connections are accepted, those in the backlog of an
   * inherited socket being the next process's, and idle ones are closed. Resolves after SHUTDOWN_MS at the latest. Call it once.
   */
  async close(): Promise<void> {
    this.#connections.isClosing = true;
    const deadline = setTimeout(() => this.#connections.destroyAll(), limits.SHUTDOWN_MS);
    if (this.#connections.open.size > 0) await setTimer(SHUTDOWN_IDLE_MS);
    const closed = once(this.#server, 'close');
    // The close of node:http would also drop connections that were accepted just now: if clients keep coming, there is always one.
    net.Server.prototype.close.call(this.#server);
    const until = performance.now() + SHUTDOWN_IDLE_MS;
    do {
      await nextTurn();
      await nextTurn();
    } while (this.#connections.hasFresh && performance.now() < until);
    this.#server.closeIdleConnections();
    for (const socket of this.#handshakes.values()) socket.destroy();
    await closed;
    clearTimeout(deadline);
  }

  #onRequest(req: IncomingMessage, res: ServerResponse): void {
    const connection = this.#connections.get(req.socket);
    if (connection === undefined) req.socket.destroy();
    else this.#serve(connection, req, res);
  }

  #serve(connection: Connection, req: IncomingMessage, res: ServerResponse): void {
    const request = connection.receive(req, res);
    if (request !== undefined) void this.#ingest.handle(connection, request);
  }

  /** Node would close the connection after a CONNECT, without a response. */
  #onConnect(req: IncomingMessage): void {
    const { socket } = req;
    // Node has removed its own handler: without one, a reset would be an uncaught exception.
    socket.on('error', () => socket.destroy());
    const connection = this.#connections.get(socket);
    if (connection === undefined) socket.destroy();
    else if (connection.pending !== undefined) connection.isLast = true;
    else if (!connection.isFinished) this.#ingest.rejectConnect(connection, req);
  }

  #onClientError(error: ParseFailure, duplex: Duplex): void {
    const socket = duplex as Socket;
    const connection = this.#connections.get(socket);
    if (connection === undefined) return void socket.destroy();
    const problem = connection.parserFailed(error);
    if (problem !== undefined) this.#ingest.rejectRaw(connection, problem);
  }
}
