import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { LINGER_BYTES, LINGER_MS, RESPONSE_WRITE_MS, SMALL_BODY_BYTES } from '../base/limits.ts';
import { http } from '../base/nodeHttp.ts';
import type { Problem } from '../protocol/errors.ts';
import type { Admission } from './admission.ts';
import { type ReadTurns, TINY_CHUNKS } from './readTurns.ts';
import type { HttpResponse } from './response.ts';

/** What a connection needs of all connections (connections.ts). */
interface AllConnections {
  readonly admission: Admission;
  readonly turns: ReadTurns;
  readonly isClosing: boolean;
}

/** What a read counts that Node's parser has failed on: it makes a new parser and keeps 64 KiB for each. */
const LINGER_READ_BYTES = 64 * 1024;
/** Requests behind the last one that is served, after which the connection is destroyed. */
const FURTHER_REQUESTS = 16;

/** The request that has not been answered yet. */
interface PendingRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Rejects the body: Node's parser has failed in it. */
  failBody?: (problem: Problem) => void;
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
  isAuthenticated = false;
  /** The TLS socket once the handshake is complete. */
  socket: Socket;
  pending: PendingRequest | undefined;
  /** No request behind the pending one is served. */
  isLast = false;
  /** The last response has been written. */
  isFinished = false;
  readonly #all: AllConnections;
  /** A request that was answered before its (small) body had arrived: Node discards that body. */
  #answeredEarly: IncomingMessage | undefined;
  #hasParserFailed = false;
  #further = 0;
  #lingerBytes = LINGER_BYTES;

  constructor(socket: Socket, client: string, all: AllConnections, isLocal = false) {
    this.socket = socket;
    this.client = client;
    this.#all = all;
    this.isLocal = isLocal;
    this.isAuthenticated = isLocal;
  }

  /** Takes a request from Node's parser. @returns whether it is to be served; if not, it is dropped. */
  receive(req: IncomingMessage, res: ServerResponse): boolean {
    this.hasAsked = true;
    if (this.isFinished || this.pending !== undefined) {
      this.isLast = true;
      if (this.pending !== undefined) this.#stopReading();
      else if (++this.#further > FURTHER_REQUESTS) this.socket.destroy();
      else req.resume();
      return false;
    }
    this.pending = { req, res };
    // What follows an Upgrade may be another protocol; HTTP/1.0 has no chunked bodies (RFC 9112, 6.1).
    const isOld = req.httpVersion === '1.0' && req.headers['transfer-encoding'] !== undefined;
    if (req.headers.upgrade !== undefined || isOld) this.isLast = true;
    return true;
  }

  /** Node's parser has failed, or the request took too long. @param answer called with the problem if no request is pending. */
  parserFailed(
    error: ParseFailure,
    problemOf: (isInBody: boolean) => Problem,
    answer: (p: Problem) => void,
  ): void {
    const { socket, pending } = this;
    if (error.code === 'ECONNRESET' || (!socket.writable && !this.isFinished)) return void socket.destroy();
    if (this.#answeredEarly?.complete === false && !this.isFinished) return void socket.destroySoon();
    if (this.isFinished) {
      // Node parses on, and fails again for each read.
      if (socket.readableEnded) socket.destroySoon();
      else this.#discard(LINGER_READ_BYTES);
      return;
    }
    this.isLast = true;
    const isInBody = pending !== undefined && !pending.req.complete;
    this.#hasParserFailed = error.code !== 'ERR_HTTP_REQUEST_TIMEOUT';
    if (isInBody) pending.failBody?.(problemOf(true));
    else if (pending === undefined) answer(problemOf(false));
    else this.#stopReading();
  }

  /** What comes behind the last request waits in the kernel until that one is answered. */
  #stopReading(): void {
    // Node resumes a socket after each request that it has parsed, over TLS behind the next tick.
    const later = this.socket instanceof TLSSocket ? setImmediate : process.nextTick;
    later(() => this.socket.pause());
  }

  /**
   * Answers the pending request; does nothing if the client has disconnected.
   * @param mustClose whether the connection closes with this response, whatever the request said.
   */
  respond({ status, headers, body }: HttpResponse, mustClose: boolean): void {
    const { pending, socket } = this;
    if (pending === undefined || pending.res.destroyed) return;
    const { req, res } = pending;
    this.pending = undefined;
    const isUnread = !req.complete;
    const isSmall = Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= SMALL_BODY_BYTES;
    // If the client asked for a close itself, Node would not wait for the body.
    const skipsBody = isSmall && !asksToClose(req);
    const closes = mustClose || this.isLast || this.#all.isClosing || (isUnread && !skipsBody);
    this.isFinished = closes;
    this.#answeredEarly = isUnread ? req : undefined;
    res.writeHead(status, closes ? { ...headers, Connection: 'close' } : headers);
    if (!closes || !isUnread) {
      res.end(body);
      // The rest of a small body flows away, so that the next request can arrive.
      if (isUnread) req.resume();
      if (socket.writableLength > 0) this.#limitFlush(res);
      return;
    }
    // No end yet: Node would close the connection, and a client that still sends would never read the response. Node sends the head
    // with the first byte of the body, which a HEAD does not have.
    if (req.method === 'HEAD') res.flushHeaders();
    // Node holds it back until the response before it is written: an end now would overtake it.
    else res.write(body, () => this.#hasParserFailed && this.#linger());
    if (this.#hasParserFailed) return req.method === 'HEAD' ? this.#linger() : this.#closeAfter(() => {});
    req.on('data', (bytes: Buffer) => this.#discard(bytes.length, req));
    req.once('end', () => res.end());
    req.resume();
    this.#closeAfter(() => res.end());
  }

  /** Writes a response to what never became a request, and closes the connection. */
  respondRaw({ status, headers, body }: HttpResponse): void {
    this.isFinished = true;
    const all = { Date: new Date().toUTCString(), ...headers, Connection: 'close' };
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    this.socket.write(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
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
    this.#closeAfter(() => {});
  }

  #closeAfter(end: () => void): void {
    const { socket } = this;
    const timer = setTimeout(() => {
      end();
      socket.destroySoon();
    }, LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  }

  /** Counts input that nobody reads, and takes turns for it. */
  #discard(bytes: number, stream: IncomingMessage | Socket = this.socket): void {
    this.#all.turns.take(stream, bytes);
    this.#lingerBytes -= bytes < TINY_CHUNKS.bytes ? LINGER_BYTES / TINY_CHUNKS.count : bytes;
    if (this.#lingerBytes < 0) this.socket.destroy();
  }

  /** Bounds how long and how much the responses of clients that do not read them may wait. */
  #limitFlush(res: ServerResponse): void {
    const { socket } = this;
    const release = this.#all.admission.reserveUnsent(socket.writableLength);
    if (release === undefined) return void socket.destroy();
    const timer = setTimeout(() => socket.destroy(), RESPONSE_WRITE_MS);
    res.once('close', () => {
      clearTimeout(timer);
      release();
    });
  }
}

/** An error of Node's `clientError`. */
export interface ParseFailure extends NodeJS.ErrnoException {
  /** What was parsed. */
  readonly rawPacket?: Buffer;
}

/** @returns whether the client wants the connection closed after this request (RFC 9112, 9.3). */
export function asksToClose({ httpVersion, headers }: IncomingMessage): boolean {
  const options = (headers.connection ?? '').toLowerCase().split(/[ \t,]+/);
  return options.includes('close') || (httpVersion === '1.0' && !options.includes('keep-alive'));
}
