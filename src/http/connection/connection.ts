import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ANSWER_TAKEN_MS, SMALL_BODY_BYTES } from '../../base/limits.ts';
import type { Problem } from '../../protocol/errors.ts';
import type { AdmissionControl } from '../admission/admissionControl.ts';
import { discard, linger, stopParser } from './lingeringClose.ts';
import { type ParserError, parserProblem } from './parseErrors.ts';

/** An answer, whole: nothing of it comes later. */
export interface Answer {
  readonly status: number;
  readonly fields: Readonly<Record<string, string | number>>;
  readonly body: string;
}

/** What a connection needs of the place where all of them are. */
interface House {
  readonly isClosing: boolean;
  showedToken(connection: Connection): void;
}

/** A request that has not been answered. */
interface Owed {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Set while its body is read: told that the rest will never come. */
  onBroken?: (problem: Problem) => void;
}

/**
 * One client's connection. It owes one answer at a time: a request that comes before the one in front of it has been answered is
 * not served, and the connection ends with the answer that it owes (RFC 9112, 9.3.2). So an answer is always that of its own
 * request, whatever Node's parser does behind it: after an Upgrade it drops the rest of what it has read, and over TLS what comes
 * while it is paused.
 */
export class Connection {
  readonly client: string;
  /** What limits count it by (clientAddress.ts). */
  readonly network: string;
  readonly #admission: AdmissionControl;
  readonly #house: House;
  #socket: Socket;
  #owed: Owed | undefined;
  /** The answer that has been handed to the socket, until the kernel has all of it. */
  #handed: ServerResponse | undefined;
  #hasToken = false;
  /** Nothing behind the answer that is owed will be served. */
  #isLast = false;
  /** Something has come that will not be read. */
  #hasUnread = false;
  /** Its last answer has been given. */
  #isOver = false;
  /** Why the body of the request that is owed an answer will never be whole. */
  #broken: Problem | undefined;
  /** It has been answered before its body was there: a small one, which Node throws away. */
  #answeredEarly: IncomingMessage | undefined;

  constructor(socket: Socket, client: string, network: string, admission: AdmissionControl, house: House) {
    this.#socket = socket;
    this.client = client;
    this.network = network;
    this.#admission = admission;
    this.#house = house;
  }

  /** TLS is set up: from now on this is what it speaks through. */
  secured(socket: Socket): void {
    this.#socket = socket;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Whether it has ever shown a valid token. */
  get hasToken(): boolean {
    return this.#hasToken;
  }

  showToken(): void {
    if (this.#hasToken) return;
    this.#hasToken = true;
    this.#house.showedToken(this);
  }

  /**
   * A request has come.
   * @param serve is called when it is to be answered; never where it is not to be served.
   */
  next(req: IncomingMessage, res: ServerResponse, serve: () => void): void {
    if (this.#isOver) {
      // Whoever has no token gets one answer, and no chance to fill the box with requests.
      if (!this.#hasToken) this.#socket.destroy();
      stopParser(this.#socket);
      return;
    }
    if (this.#owed !== undefined) return this.#serveNoMore();
    this.#owed = { req, res };
    // Behind it the parser drops the rest of what it has read; and HTTP/1.0 has no chunks (RFC 9112, 6.1).
    if (req.headers.upgrade !== undefined) {
      this.#isLast = true;
      this.#socket.once('end', () => this.#endedWithin(req));
    }
    if (req.httpVersion === '1.0' && req.headers['transfer-encoding'] !== undefined) this.#isLast = true;
    // The answer in front of it is whole, but the kernel does not have all of it: this one would be written into it.
    if (this.#handed === undefined) serve();
    else this.#handed.once('finish', serve);
  }

  /** @param onBroken what to tell when the rest of the body that is being read will never come; undefined when it is there. */
  readsBody(onBroken: ((problem: Problem) => void) | undefined): void {
    if (this.#owed === undefined) return;
    if (onBroken === undefined) delete this.#owed.onBroken;
    else if (this.#broken !== undefined) onBroken(this.#broken);
    else this.#owed.onBroken = onBroken;
  }

  /**
   * The parser has given up on what came.
   * @returns what to answer, where that is no part of a request that is owed an answer or behind one.
   */
  broken(error: ParserError): Problem | undefined {
    const socket = this.#socket;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return undefined;
    }
    if (this.#isOver || this.#hasUnread) return undefined;
    if (this.#answeredEarly?.complete === false) {
      socket.destroySoon();
      return undefined;
    }
    const owed = this.#owed;
    const isInBody = owed !== undefined && !owed.req.complete;
    const problem = parserProblem(error, isInBody);
    this.#serveNoMore();
    if (isInBody) {
      this.#broken = problem;
      owed.onBroken?.(problem);
    }
    return owed === undefined ? problem : undefined;
  }

  /** The client has ended its side. With an offer of an Upgrade Node keeps to itself that a body was not whole. */
  #endedWithin(req: IncomingMessage): void {
    if (this.#owed?.req !== req || req.complete) return;
    this.broken(Object.assign(new Error('ended'), { code: 'HPE_INVALID_EOF_STATE' }));
  }

  /**
   * Answers the request that is owed one.
   * @param mustEnd whether the connection ends with it.
   */
  answer({ status, fields, body }: Answer, mustEnd: boolean): void {
    const owed = this.#owed;
    if (owed === undefined || owed.res.destroyed) return;
    const { req, res } = owed;
    this.#owed = undefined;
    const isUnread = !req.complete && hasBody(req);
    const isSoonRead = Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= SMALL_BODY_BYTES;
    // Behind an answer with which its client wanted to end (HTTP/1.0, Connection: close) Node would not wait for a body.
    const isKept = isSoonRead && res.shouldKeepAlive;
    const ends = mustEnd || this.#isLast || this.#house.isClosing || (isUnread && !isKept);
    this.#isOver = ends;
    this.#answeredEarly = isUnread ? req : undefined;
    if (ends && (isUnread || this.#hasUnread)) {
      res.writeHead(status, { ...fields, Connection: 'close' });
      // Not its end: with that, Node would destroy the connection, and the sender would never see the answer.
      res.write(body);
      this.#linger();
      return;
    }
    if (ends) res.shouldKeepAlive = false;
    res.writeHead(status, fields);
    res.end(body);
    this.#handed = res;
    const taken = this.#socket.writableLength > 0 ? this.#waitForTaker() : undefined;
    res.once('finish', () => {
      this.#handed = undefined;
      taken?.();
    });
  }

  /** The same by hand, for what never became a request. */
  answerRaw({ status, fields, body }: Answer): void {
    const socket = this.#socket;
    this.#isOver = true;
    const all = { Date: new Date().toUTCString(), ...fields, Connection: 'close' };
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
    this.#linger();
  }

  /**
   * Node has let go of the socket, because of a CONNECT.
   * @returns whether nothing else is owed, so that it may be answered by hand.
   */
  letGo(): boolean {
    const socket = this.#socket;
    // Without it a reset would be an uncaught exception.
    socket.on('error', () => socket.destroy());
    if (this.#owed !== undefined) this.#serveNoMore();
    return this.#owed === undefined && !this.#isOver;
  }

  /** Whatever comes from now on is thrown away. */
  #serveNoMore(): void {
    if (this.#hasUnread) return;
    this.#isLast = true;
    this.#hasUnread = true;
    discard(this.#socket);
  }

  /** The end of a connection whose client is still sending. */
  #linger(): void {
    if (!this.#hasUnread) discard(this.#socket);
    this.#hasUnread = true;
    linger(this.#socket);
  }

  /** @returns what to call when the client has taken its answer. It has a time for that, and all together have a bound. */
  #waitForTaker(): (() => void) | undefined {
    const socket = this.#socket;
    const leave = this.#admission.answerWaits(this.network, socket.writableLength);
    if (leave === undefined) {
      socket.destroy();
      return undefined;
    }
    const timer = setTimeout(() => socket.destroy(), ANSWER_TAKEN_MS);
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      socket.off('close', over);
      clearTimeout(timer);
      leave();
    };
    socket.once('close', over);
    return over;
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0);
}
