import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { RESPONSE_WRITE_MS, SMALL_BODY_BYTES } from '../../base/limits.ts';
import { http } from '../../base/nodeHttp.ts';
import type { Problem } from '../../protocol/errors.ts';
import type { AdmissionControl } from '../admission/admissionControl.ts';
import { discardInput, lingeringClose, stopParser } from './lingeringClose.ts';
import type { PacedRequest } from './pacedRequest.ts';
import { type ParseError, parserProblem } from './parseErrors.ts';
import type { ReadTurns } from './readTurns.ts';

/** A complete response: its body is never streamed. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string;
}

/** What a connection needs from the set of all connections (connections.ts). */
interface ConnectionRegistry {
  readonly isClosing: boolean;
  readonly turns: ReadTurns;
  onAuthenticated(connection: Connection): void;
}

/** The request that has not been answered yet. */
interface PendingRequest {
  readonly req: PacedRequest;
  readonly res: ServerResponse;
}

/**
 * One client's connection, with at most one pending request. Pipelining is not supported: a request that arrives before the
 * previous one has been answered is dropped, and the connection closes with the pending response (RFC 9112, 9.3.2). A response
 * therefore always belongs to its own request, whatever Node's parser does afterwards: after an Upgrade it drops what it has
 * already read, and over TLS also what arrives while it is paused.
 */
export class Connection {
  /** The client's address, as it is logged (clientAddress.ts). */
  readonly client: string;
  /** The key that all limits count by (clientAddress.ts). */
  readonly network: string;
  /** Of a command of this box, over `control.sock`: the mode of that file is its token. */
  readonly isLocal: boolean;
  readonly #admission: AdmissionControl;
  readonly #registry: ConnectionRegistry;
  #socket: Socket;
  #pending: PendingRequest | undefined;
  /** A response that Node has, and the kernel does not have completely. */
  #flushing: ServerResponse | undefined;
  #isAuthenticated = false;
  /** The pending request is the last one that is served. */
  #isLastRequest = false;
  /** Input is being discarded. */
  #discardsInput = false;
  /** The last response has been written. */
  #isFinished = false;
  /** A request that was answered before its (small) body had arrived; Node discards that body. */
  #answeredEarly: IncomingMessage | undefined;

  constructor(
    socket: Socket,
    client: string,
    network: string,
    admission: AdmissionControl,
    registry: ConnectionRegistry,
    isLocal = false,
  ) {
    this.#socket = socket;
    this.isLocal = isLocal;
    this.#isAuthenticated = isLocal;
    this.client = client;
    this.network = network;
    this.#admission = admission;
    this.#registry = registry;
  }

  /** The TLS handshake is complete: all further traffic goes through this socket. */
  useTls(socket: Socket): void {
    this.#socket = socket;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Whether any request on this connection has carried a valid token. */
  get isAuthenticated(): boolean {
    return this.#isAuthenticated;
  }

  markAuthenticated(): void {
    this.#isAuthenticated = true;
    this.#registry.onAuthenticated(this);
  }

  /**
   * Takes a request from Node's parser.
   * @param serve called once the previous response is flushed; never called for a request that is dropped.
   */
  receive(req: PacedRequest, res: ServerResponse, serve: () => void): void {
    if (this.#isFinished) {
      // A client without a valid token gets one response: no more of its requests are parsed.
      if (!this.#isAuthenticated) this.#socket.destroy();
      stopParser(this.#socket);
      return;
    }
    if (this.#pending !== undefined) return this.#stopServing();
    this.#pending = { req, res };
    // After an Upgrade the parser drops what it has already read; HTTP/1.0 has no chunked bodies (RFC 9112, 6.1).
    if (req.headers.upgrade !== undefined) {
      this.#isLastRequest = true;
      this.#socket.once('end', () => this.#onEndDuring(req));
    }
    if (req.httpVersion === '1.0' && req.headers['transfer-encoding'] !== undefined)
      this.#isLastRequest = true;
    // While the previous response is still being flushed, this one would be written into the middle of it.
    if (this.#flushing === undefined) serve();
    else this.#flushing.once('finish', serve);
  }

  /**
   * Node's parser has failed on the input.
   * @returns the problem to answer with; undefined where the failure belongs to the pending request or follows it.
   */
  parseFailed(error: ParseError): Problem | undefined {
    const socket = this.#socket;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return undefined;
    }
    if (this.#isFinished) return undefined;
    if (this.#answeredEarly?.complete === false) {
      socket.destroySoon();
      return undefined;
    }
    const pending = this.#pending;
    const isInBody = pending !== undefined && !pending.req.complete;
    const problem = parserProblem(error, socket, isInBody);
    this.#stopServing();
    if (isInBody) pending.req.failBody(problem);
    return pending === undefined ? problem : undefined;
  }

  /** The client has half-closed. For a request with an Upgrade header Node does not report that its body was cut short. */
  #onEndDuring(req: IncomingMessage): void {
    if (this.#pending?.req !== req || req.complete) return;
    this.parseFailed(new Error('The body is cut short.'));
  }

  /**
   * Answers the pending request; does nothing where the client is gone.
   * @param mustClose whether the connection closes with this response, whatever the request said.
   */
  respond({ status, headers, body }: HttpResponse, mustClose: boolean): void {
    const pending = this.#pending;
    if (pending === undefined || pending.res.destroyed) return;
    const { req, res } = pending;
    this.#pending = undefined;
    const hasUnreadBody = !req.complete && hasBody(req);
    const isSmall = Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= SMALL_BODY_BYTES;
    // Where the client asked for a close itself (HTTP/1.0, Connection: close), Node would not wait for the body.
    const canSkipBody = isSmall && !asksToClose(req);
    const closes =
      mustClose || this.#isLastRequest || this.#registry.isClosing || (hasUnreadBody && !canSkipBody);
    this.#isFinished = closes;
    this.#answeredEarly = hasUnreadBody ? req : undefined;
    if (closes && (hasUnreadBody || this.#discardsInput)) {
      res.writeHead(status, { ...headers, Connection: 'close' });
      // No res.end(): Node would destroy the connection, and a client that is still sending would never see the response.
      // Node sends the head with the body's first byte, and never where that body is not to be sent.
      if (req.method === 'HEAD') res.flushHeaders();
      else res.write(body);
      this.#closeLingering();
      return;
    }
    res.writeHead(status, closes ? { ...headers, Connection: 'close' } : headers);
    res.end(body);
    this.#flushing = res;
    const onFlushed = this.#socket.writableLength > 0 ? this.#limitFlush() : undefined;
    res.once('finish', () => {
      this.#flushing = undefined;
      onFlushed?.();
    });
  }

  /** Writes a response without Node's ServerResponse, for input that never became a request; closes the connection. */
  respondRaw({ status, headers, body }: HttpResponse): void {
    const socket = this.#socket;
    this.#isFinished = true;
    const all = { Date: new Date().toUTCString(), ...headers, Connection: 'close' };
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
    this.#closeLingering();
  }

  /**
   * Takes the socket over after a CONNECT, when Node no longer handles it.
   * @returns whether nothing is pending, so that `respondRaw` may be used.
   */
  detach(): boolean {
    const socket = this.#socket;
    // Node has removed its own handler: without one, a reset would be an uncaught exception.
    socket.on('error', () => socket.destroy());
    if (this.#pending !== undefined) this.#stopServing();
    return this.#pending === undefined && !this.#isFinished;
  }

  /** Serves no further request: all further input is discarded. */
  #stopServing(): void {
    this.#isLastRequest = true;
    if (!this.#discardsInput) discardInput(this.#socket, this.#registry.turns);
    this.#discardsInput = true;
  }

  #closeLingering(): void {
    this.#stopServing();
    lingeringClose(this.#socket);
  }

  /**
   * Bounds the backpressure of a client that does not read its response: RESPONSE_WRITE_MS for each, and UNSENT_RESPONSES_BYTES
   * for all together. The connection is destroyed where either is exceeded.
   * @returns what to call when the response is flushed.
   */
  #limitFlush(): (() => void) | undefined {
    const socket = this.#socket;
    const release = this.#admission.admitUnsent(this.network, socket.writableLength);
    if (release === undefined) {
      socket.destroy();
      return undefined;
    }
    const timer = setTimeout(() => socket.destroy(), RESPONSE_WRITE_MS);
    let isDone = false;
    const done = () => {
      if (isDone) return;
      isDone = true;
      socket.off('close', done);
      clearTimeout(timer);
      release();
    };
    socket.once('close', done);
    return done;
  }
}

/** @returns whether the client wants the connection closed after this request (RFC 9112, 9.3). */
export function asksToClose({ httpVersion, headers }: IncomingMessage): boolean {
  const options = (headers.connection ?? '').toLowerCase().split(/[ \t,]+/);
  return options.includes('close') || (httpVersion === '1.0' && !options.includes('keep-alive'));
}

function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0);
}
