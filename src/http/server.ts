import type { ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  BACKLOG_CONNECTIONS,
  CONNECTIONS,
  HEADERS_BYTES,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  REQUEST_TIMEOUT_MS,
  SHUTDOWN_IDLE_MS,
  SHUTDOWN_MS,
  TIMEOUT_CHECK_MS,
} from '../protocol/limits.ts';
import { Problem } from '../protocol/problems.ts';
import { dropParser, parserProblem } from './broken.ts';
import { passGate } from './gate.ts';
import { holdPauses } from './hold.ts';
import { Ingest, type IngestContext } from './ingest.ts';
import { noteOwed, whenItsTurn } from './owed.ts';
import { endRaw, replyRaw } from './reply.ts';
import type { CourtRequest } from './request.ts';
import { Handshakes, type HttpServer, type KeyPair, makeServer, renew } from './secure.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface ListenSocket {
  readonly fd: number;
}

/** What the server works with. */
export interface ServerContext extends IngestContext {
  /** Where it is to speak TLS. */
  readonly pair?: KeyPair | undefined;
}

/** node:http, or node:https, with every limit set on purpose and every answer ours. */
export class CourtServer {
  readonly #server: HttpServer;
  readonly #handshakes: Handshakes | undefined;
  readonly #ingest: Ingest;
  readonly #context: IngestContext;
  /** Connections that broke behind a refusal and are read to their end. */
  readonly #drained = new WeakSet<Duplex>();
  #isShared = false;
  #isClosing = false;

  constructor(context: ServerContext) {
    this.#context = context;
    this.#ingest = new Ingest(context);
    this.#server = makeServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: TIMEOUT_CHECK_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        maxHeaderSize: HEADERS_BYTES,
        // A missing Host gets our 400 (gate.ts), not Node's empty one.
        requireHostHeader: false,
        noDelay: true,
      },
      context.pair,
    );
    if (this.#server instanceof https.Server) {
      this.#handshakes = new Handshakes(this.#server, (address, failure) =>
        context.traffic.handshakeFailed(this.#ingest.mark(address), failure),
      );
    }
    this.#server.maxConnections = CONNECTIONS;
    // Who closes its side behind a request still waits for the answer; without it Node closes the other side as well.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.on('connection', () => this.#ingest.connectionCame());
    this.#server.on(context.pair === undefined ? 'connection' : 'secureConnection', holdPauses);
    this.#server.on('request', (req, res) => this.#serve(req, res, false));
    this.#server.on('checkContinue', (req, res) => this.#serve(req, res, true));
    this.#server.on('checkExpectation', (req, res) => this.#refuseExpectation(req, res));
    this.#server.on('connect', (req, socket) => this.#refuseTunnel(req, socket));
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
    this.#ingest.endConnections();
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
    const all = setTimeout(() => server.closeAllConnections(), SHUTDOWN_MS);
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

  #serve(req: CourtRequest, res: ServerResponse, expectsContinue: boolean): void {
    noteOwed(req.socket, res);
    void this.#ingest.handle(req, res, expectsContinue);
  }

  #refuseExpectation(req: CourtRequest, res: ServerResponse): void {
    noteOwed(req.socket, res);
    const sentence = 'The only expectation understood here is "Expect: 100-continue".';
    const mark = this.#ingest.mark(req.socket.remoteAddress);
    this.#ingest.refuse(req, res, mark, new Problem('expectation_failed', sentence));
  }

  /** CONNECT: Node would close the connection without a word. */
  #refuseTunnel(req: CourtRequest, socket: Duplex): void {
    const mark = this.#ingest.mark(req.socket.remoteAddress);
    try {
      passGate(req, mark.client, this.#context.gate);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // Node has let go of the socket: without this a reset would be an uncaught exception.
      socket.on('error', () => socket.destroy());
      whenItsTurn(socket, () => {
        this.#context.traffic.refused(mark, error);
        replyRaw(socket, error, mark.id);
      });
    }
  }

  #refuseBroken(error: NodeJS.ErrnoException, duplex: Duplex): void {
    const socket = duplex as net.Socket;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const isGap = error.code === 'HPE_PAUSED';
    if (isGap) dropParser(socket);
    whenItsTurn(socket, (hadAnswer) => {
      if (hadAnswer) {
        // There is no more to say to it, and it is drained (reply.ts) until it has sent the body that was refused.
        if (isGap) endRaw(socket);
        else if (error.code === 'HPE_INVALID_EOF_STATE' || socket.readableEnded) socket.destroySoon();
        else if (!this.#drained.has(socket)) socket.once('end', () => socket.destroySoon());
        // Whatever it sends from now on breaks the parser again.
        this.#drained.add(socket);
        return;
      }
      const mark = this.#ingest.mark(socket.remoteAddress);
      const problem = parserProblem(error);
      this.#context.traffic.refused(mark, problem);
      replyRaw(socket, problem, mark.id);
    });
  }
}
