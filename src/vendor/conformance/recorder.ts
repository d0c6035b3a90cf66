import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { BODY_BYTES, HEADERS_BYTES } from '../../base/limits.ts';
import { http } from '../../base/nodeHttp.ts';
import { asksToClose } from '../../http/connection/connection.ts';
import type { ProblemMembers } from '../../protocol/errors.ts';
import type { Answer } from './answers.ts';
import type { ConnectionRecord, Exchange, Recording } from './exchange.ts';
import { digestOf, sentEvents } from './sentEvents.ts';

/** Limits of a recording: some twenty minutes of a busy court, in fifty MiB. Later requests are served but not judged. */
const EXCHANGES_MAX = 10_000;
const EVENTS_MAX = 200_000;

/** Names in a query that stand before a token. */
const TOKEN_NAMES = /token|auth|bearer|secret|key/i;

type ProblemBody = Pick<ProblemMembers, 'invalid' | 'details'> & {
  readonly code?: string;
  readonly error: string;
};

/** A request that has no answer yet. */
interface PendingRequest {
  readonly method: string;
  /** Undefined where the recording is full. */
  readonly exchange: Exchange | undefined;
  /** The connection ends after its answer because the camera wants that: it said so, or speaks HTTP/1.0. */
  readonly isLast: boolean;
  /** Decompressed, once it is whole. */
  body?: Buffer | undefined;
}

/** One that is in the recording. */
export interface ReadRequest extends PendingRequest {
  readonly exchange: Exchange;
}

/** A camera's connection. */
interface RecordedConnection {
  /** Is given a copy of what the camera sends. */
  readonly input: Duplex;
  readonly record: ConnectionRecord;
  /** In the order in which they are answered. */
  readonly pending: PendingRequest[];
}

export class Recorder {
  readonly exchanges: Exchange[] = [];
  readonly #connections: ConnectionRecord[] = [];
  readonly #byInput = new WeakMap<Duplex, RecordedConnection>();
  readonly #token: string;
  /** Reads requests as the daemon does, and listens nowhere. */
  readonly #parser: Server;
  #events = 0;

  constructor(token: string) {
    this.#token = token;
    this.#parser = http.createServer({
      maxHeaderSize: HEADERS_BYTES,
      requireHostHeader: false,
      keepAliveTimeout: 0,
    });
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      this.#parser.on(event, (req, res) => this.#begin(req, res));
    // What never becomes a request is the daemon's to answer, after those in front of it.
    this.#parser.on('clientError', () => {});
  }

  get recording(): Recording {
    // Nothing is known about what came after the last recorded one.
    const endedAt = this.isFull ? this.exchanges.at(-1)!.at : performance.now();
    const connections = this.#connections.filter(({ requests }) => requests > 0);
    return { endedAt, exchanges: this.exchanges, connections };
  }

  get isFull(): boolean {
    return this.exchanges.length >= EXCHANGES_MAX || this.#events >= EVENTS_MAX;
  }

  /** A camera has connected. */
  connect(): RecordedConnection {
    // What the parser's server writes is for nobody.
    const input = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    const record = { number: this.#connections.length + 1, requests: 0 };
    const connection: RecordedConnection = { input, record, pending: [] };
    this.#connections.push(record);
    this.#byInput.set(input, connection);
    this.#parser.emit('connection', input);
    return connection;
  }

  /**
   * Notes what a request held.
   * @param answer of the daemon; undefined where there will be none.
   * @returns undefined where it is not recorded.
   */
  read(request: PendingRequest | undefined, answer?: Answer): ReadRequest | undefined {
    if (request?.exchange === undefined) return undefined;
    // A HEAD has no body, and checks tell of invalid events.
    if (answer !== undefined && answer.status >= 400 && answer.body !== '') {
      const { code, error }: ProblemBody = JSON.parse(answer.body);
      if (code !== 'invalid_event') request.exchange.refusal = error;
    }
    if (request.exchange.digest === undefined && request.body !== undefined)
      this.#read(request.exchange, request.body, answer);
    return request as ReadRequest;
  }

  #read(exchange: Exchange, body: Buffer, { status = 0, body: told = '' }: Partial<Answer> = {}): void {
    exchange.digest = digestOf(body);
    try {
      const { code, invalid, details }: ProblemBody = status < 400 ? {} : JSON.parse(told);
      const isServed = code === undefined || code === 'invalid_event' || status === 429 || status >= 500;
      if (!isServed) return;
      exchange.faults = details ?? invalid?.flatMap(({ issues }) => issues) ?? [];
      const indexes = invalid?.map(({ index }) => index) ?? (details === undefined ? [] : [0]);
      exchange.events = sentEvents(body, (index) => indexes.includes(index));
      this.#events += exchange.events.length;
    } catch {
      // No JSON, and nobody has looked at it.
    }
  }

  #begin(req: IncomingMessage, res: ServerResponse): void {
    const { record, pending } = this.#byInput.get(req.socket)!;
    const request: PendingRequest = {
      method: req.method ?? '',
      exchange: this.isFull ? undefined : this.#record(req, record, pending.at(-1)?.exchange),
      isLast: asksToClose(req),
    };
    pending.push(request);
    const chunks: Buffer[] = [];
    let bytes = 0;
    req.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES && request.exchange !== undefined) chunks.push(chunk);
    });
    req.once('end', () => {
      if (request.exchange !== undefined) request.exchange.bodyMs = Date.now();
      request.body = bytes <= BODY_BYTES ? decompressed(Buffer.concat(chunks), req) : undefined;
      // So that Node reads the next request.
      res.end();
    });
  }

  #record({ url = '' }: IncomingMessage, record: ConnectionRecord, inFront: Exchange | undefined): Exchange {
    record.requests++;
    const exchange: Exchange = {
      number: this.exchanges.length + 1,
      connection: record.number,
      at: performance.now(),
      wallMs: Date.now(),
      isTokenInUrl: url.includes(this.#token) || namesToken(url),
      // What has its answer may still be pending: it is being written.
      isPipelined: inFront !== undefined && inFront.answeredAt === undefined,
      events: [],
      named: [],
      faults: [],
    };
    this.exchanges.push(exchange);
    return exchange;
  }
}

/** @returns whether a URL has a query with a token, by the name of one of its fields: in a time that its length bounds. */
export function namesToken(url: string): boolean {
  const fields = url.split(/[?&]/).slice(1);
  return fields.some((field) => field.includes('=') && TOKEN_NAMES.test(field.split('=', 1)[0]!));
}

/** @returns undefined where it is not what its Content-Encoding says, or is too large. */
function decompressed(body: Buffer, { headers }: IncomingMessage): Buffer | undefined {
  if (headers['content-encoding']?.trim().toLowerCase() !== 'gzip') return body;
  try {
    return gunzipSync(body, { maxOutputLength: BODY_BYTES });
  } catch {
    return undefined;
  }
}
