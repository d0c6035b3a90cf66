import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { LINGER_BYTES, LINGER_MS } from '../base/limits.ts';
import { http } from '../base/nodeHttp.ts';
import type { Problem } from '../protocol/errors.ts';
import type { Counts } from '../store/write/appender.ts';
import { type Admission, TINY_CHUNKS } from './admission.ts';
import { type ParseFailure, parserProblem } from './parseErrors.ts';

/** What a connection needs of all connections (connections.ts). */
interface AllConnections {
  readonly admission: Admission;
  readonly isClosing: boolean;
}

/** A complete response: its body is never streamed. */
interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string;
}

/** A read on which Node's parser failed counts as so many bytes: Node makes a new parser and keeps 64 KiB for each. */
const LINGER_READ_BYTES = 64 * 1024;

/** The request that has not been answered yet. */
export interface PendingRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Rejects the body: Node's parser has failed in it. */
  failBody?: (problem: Problem) => void;
}

/** @returns 202 with the two counts (spec 2.3). Send it only after the commit. */
export function acceptedResponse({ accepted, duplicates, conflicts }: Counts): HttpResponse {
  const body = `{"accepted":${accepted},"duplicates":${duplicates}}`;
  const headers: Record<string, string | number> = {
    'Content-Type': 'application/json',
    'Content-Length': body.length,
  };
  if (conflicts > 0) headers['Courtd-Conflicts'] = conflicts;
  return { status: 202, headers, body };
}

/** @param requestId the id of this request in the log. */
export function problemResponse(problem: Problem, requestId: string): HttpResponse {
  const body = problem.body(requestId);
  return {
    status: problem.status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
      ...problem.headers,
    },
    body,
  };
}

/**
 * One client's connection, with at most one pending request. There is no pipelining: a request that arrives before the previous one
 * is answered is dropped, and the connection closes with the pending response (RFC 9112, 9.3.2).
 */
export class Connection {
  /** The client's address, as it is logged and as limits count it. */
  readonly client: string;
  /** A command of this box, over `control.sock`: the mode of that file is its token. */
  readonly isLocal: boolean;
  /** Whether any request has arrived, and whether one has carried a valid token. */
  hasAsked = false;
  isAuthenticated: boolean;
  /** The TLS socket once the handshake is complete. */
  socket: Socket;
  pending: PendingRequest | undefined;
  /** No request behind the pending one is served. */
  isLast = false;
  /** The last response has been written. */
  isFinished = false;
  readonly #all: AllConnections;
  #hasParserFailed = false;
  #lingerBytes = LINGER_BYTES;

  constructor(socket: Socket, client: string, all: AllConnections, isLocal = false) {
    this.socket = socket;
    this.client = client;
    this.#all = all;
    this.isLocal = isLocal;
    this.isAuthenticated = isLocal;
  }

  /** Takes a request from Node's parser. @returns it if it is to be served; if not, it is dropped. */
  receive(req: IncomingMessage, res: ServerResponse): PendingRequest | undefined {
    this.hasAsked = true;
    if (this.isFinished) this.socket.destroySoon();
    else if (this.pending !== undefined) this.#dropWhatFollows();
    if (this.isFinished || this.pending !== undefined) return undefined;
    this.pending = { req, res };
    // What follows an Upgrade may be another protocol; HTTP/1.0 has no chunked bodies (RFC 9112, 6.1).
    const isOld = req.httpVersion === '1.0' && req.headers['transfer-encoding'] !== undefined;
    if (req.headers.upgrade !== undefined || isOld) this.isLast = true;
    return this.pending;
  }

  /** Node's parser has failed, or the request took too long. @returns the problem to answer with if no request is pending. */
  parserFailed(error: ParseFailure): Problem | undefined {
    const { socket, pending } = this;
    if (error.code === 'ECONNRESET' || (!socket.writable && !this.isFinished)) return void socket.destroy();
    // Node parses on, and fails again for each read.
    if (this.isFinished && !socket.readableEnded) return void this.#discard(LINGER_READ_BYTES, socket);
    if (this.isFinished) return void socket.destroySoon();
    this.#hasParserFailed = error.code !== 'ERR_HTTP_REQUEST_TIMEOUT';
    if (pending === undefined) return parserProblem(error, socket, false);
    if (pending.req.complete) return void this.#dropWhatFollows();
    this.isLast = true;
    return void pending.failBody?.(parserProblem(error, socket, true));
  }

  /** Bytes after the pending request wait in the kernel until that one is answered. */
  #dropWhatFollows(): void {
    this.isLast = true;
    // Node resumes a socket after each request that it has parsed, over TLS behind the next tick.
    const later = this.socket instanceof TLSSocket ? setImmediate : process.nextTick;
    later(() => this.socket.pause());
  }

  /**
   * Answers the pending request; does nothing if the client has disconnected.
   * @param mustClose whether the connection closes with this response, whatever the request said.
   */
  respond({ status, headers, body }: HttpResponse, mustClose: boolean): void {
    const { pending } = this;
    if (pending === undefined || pending.res.destroyed) return;
    const { req, res } = pending;
    this.pending = undefined;
    this.isFinished = mustClose || this.isLast || this.#all.isClosing || !req.complete;
    res.writeHead(status, this.isFinished ? { ...headers, Connection: 'close' } : headers);
    if (req.complete || req.method === 'HEAD') return void res.end(body);
    // No end yet: Node would close the connection, and a client that still sends would never read the response. Node holds it back
    // until the response before it is written: an end now would overtake it.
    res.write(body, () => this.#hasParserFailed && this.#linger());
    this.#closeLater();
    if (this.#hasParserFailed) return;
    req.on('data', (bytes: Buffer) => this.#discard(bytes.length, req));
    req.once('end', () => res.end());
    req.resume();
  }

  /** Writes a response to input that is no request, and closes the connection. */
  respondRaw({ status, headers, body }: HttpResponse): void {
    this.isFinished = true;
    const all = { Date: new Date().toUTCString(), ...headers, Connection: 'close' };
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    this.socket.write(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
    this.#closeLater();
    this.#linger();
  }

  /**
   * Lingering close (RFC 9112, 9.6): half-closes and waits until the client closes its side. If it were closed at once while the
   * client still sends, the kernel would reset the connection, and the client could lose the response.
   */
  #linger(): void {
    const { socket } = this;
    if (socket.readableEnded) return void socket.destroySoon();
    socket.once('end', () => socket.destroySoon());
    socket.end();
    socket.resume();
  }

  #closeLater(): void {
    const { socket } = this;
    const timer = setTimeout(() => socket.destroySoon(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  }

  /** Counts input that nobody reads, and takes turns for it. */
  #discard(bytes: number, stream: IncomingMessage | Socket): void {
    this.#all.admission.takeTurn(stream, bytes);
    this.#lingerBytes -= bytes < TINY_CHUNKS.bytes ? LINGER_BYTES / TINY_CHUNKS.count : bytes;
    if (this.#lingerBytes < 0) this.socket.destroy();
  }
}
