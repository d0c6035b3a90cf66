import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { BODY_QUEUE_MS, SMALL_BODY_BYTES } from '../base/limits.ts';
import { freeBuffer, freeMemory } from '../base/ownMemory.ts';
import { decodeBatch } from '../protocol/decodeBatch.ts';
import { Problem, type ProblemCode } from '../protocol/errors.ts';
import type { CourtEvent } from '../protocol/event.ts';
import type { EventRules } from '../protocol/validate.ts';
import type { Counts } from '../store/write/appender.ts';
import type { RefusedRequest } from '../telemetry/refusalBook.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { type AccessLog, RequestInfo } from './accessLog.ts';
import type { AcceptBurst } from './admission/acceptBurst.ts';
import { type AdmissionControl, overloaded, type Permit } from './admission/admissionControl.ts';
import type { Connection } from './connection/connection.ts';
import type { Connections } from './connection/connections.ts';
import type { PacedRequest } from './connection/pacedRequest.ts';
import { authenticate, shownToken } from './request/bearerAuth.ts';
import { ClientDisconnected, readBody } from './request/bodyReader.ts';
import { gunzip } from './request/gunzip.ts';
import { type BodyEncoding, checkPreconditions, type PreconditionContext } from './request/preconditions.ts';
import { redactFields, redactProblem } from './request/tokenRedaction.ts';
import { acceptedResponse, problemResponse } from './response.ts';

/**
 * Milliseconds of a turn of the event loop for parsing large bodies. A pause of the same length follows: Node accepts one connection
 * a turn, so a camera that connects waits for a turn for each client that connected before it. Without the pause, bodies of 7 ms
 * each made turns of 25 ms: behind two hundred such clients, a camera waited for three seconds. 5 ms were enough for only four
 * batches of 500 events, so that eight that had arrived took two commits (../ARCHITECTURE.md#group-commit).
 */
const LARGE_BODY_MS = 10;

/** What the ingest path depends on. */
export interface IngestContext {
  readonly preconditions: PreconditionContext;
  readonly rules: EventRules;
  readonly log: Logger;
  readonly accessLog: AccessLog;
  readonly telemetry: Telemetry;
  /** Stores events. Resolves once they are on disk; rejects with a Problem where they are not stored. */
  append(events: readonly CourtEvent[]): Promise<Counts>;
  /** Keeps the body of a request that was refused for its content; absent: none is kept. */
  keepRefused?(refused: RefusedRequest & { readonly body: Buffer; readonly receivedMs: number }): void;
}

const NO_EVENTS: Counts = { accepted: 0, duplicates: 0, conflicts: 0 };

/** The ingest path: from the head of a request to its response. */
export class IngestHandler {
  readonly #context: IngestContext;
  readonly #admission: AdmissionControl;
  readonly #connections: Connections;
  readonly #acceptBurst: AcceptBurst;
  /** The tail of the queue of large bodies: resolves to the milliseconds that they have used since the last pause. */
  #lastLargeBody: Promise<number> = Promise.resolve(0);

  constructor(
    context: IngestContext,
    admission: AdmissionControl,
    connections: Connections,
    acceptBurst: AcceptBurst,
  ) {
    this.#context = context;
    this.#admission = admission;
    this.#connections = connections;
    this.#acceptBurst = acceptBurst;
  }

  /** Answers a request: 202 once its events are on disk, a problem otherwise. Never throws. */
  async handle(connection: Connection, req: PacedRequest, res: ServerResponse): Promise<void> {
    const info = new RequestInfo(connection.client);
    try {
      const counts = await this.#ingest(connection, req, res, info);
      connection.respond(acceptedResponse(counts), false);
      this.#context.accessLog.accepted(info, counts);
    } catch (error) {
      if (error instanceof ClientDisconnected) return this.#context.accessLog.aborted(info);
      const problem = this.#toProblem(error, info);
      this.#recordRejection(connection, info, problem, req);
      req.dropBody();
      // After an error, a client that sent Expect may omit the body; the next request would be taken for it (RFC 9110, 10.1.1).
      const mayOmitBody = req.headers.expect !== undefined;
      connection.respond(problemResponse(problem, info.id), mayOmitBody || mustClose(connection, problem));
    } finally {
      if (info.body !== undefined) freeBody(info.body);
    }
  }

  /** Answers a CONNECT, which fails one of the checks as any method but POST does, and for which Node has no ServerResponse. */
  rejectConnect(connection: Connection, req: IncomingMessage): void {
    const info = new RequestInfo(connection.client);
    try {
      checkPreconditions(req, connection, this.#context.preconditions);
    } catch (error) {
      this.rejectRaw(connection, this.#toProblem(error, info), info);
    }
  }

  /** Rejects what Node has no ServerResponse for, such as input that never became a request; closes the connection. */
  rejectRaw(connection: Connection, problem: Problem, info = new RequestInfo(connection.client)): void {
    this.#recordRejection(connection, info, problem);
    connection.respondRaw(problemResponse(problem, info.id));
  }

  /** For the operator: a line of the log, and the book of refusals. */
  #recordRejection(connection: Connection, info: RequestInfo, problem: Problem, req?: IncomingMessage): void {
    if (this.#lacksToken(connection, problem, req)) this.#connections.countUnauthorized(connection.network);
    const isUnauthorized = problem.code === 'unauthorized';
    // A 401 quotes nothing of its request, and what was sent as its token may be any text.
    const token = req === undefined || isUnauthorized ? undefined : shownToken(req);
    const { id, client, camera, body } = info;
    const told = redactProblem(problem, token);
    const known = { ...redactFields({ ...camera }, token), ...told.logFields };
    const refused = { id, client, problem: told, camera: known, body, token };
    this.#context.accessLog.rejected(info, refused);
    // An import tells whoever runs it, who still has the file.
    if (connection.isLocal) return;
    const receivedMs = this.#context.telemetry.refused(refused);
    if (body !== undefined && isForContent(problem))
      this.#context.keepRefused?.({ ...refused, body, receivedMs });
  }

  /**
   * Whether a rejected request came without a valid token. Malformed HTTP is rejected before its token is checked; a connection that
   * times out has not tried any.
   */
  #lacksToken(connection: Connection, { code }: Problem, req?: IncomingMessage): boolean {
    if (code === 'unauthorized') return true;
    if (connection.isAuthenticated || code === 'request_timeout') return false;
    if (req === undefined) return true;
    try {
      authenticate(req, this.#context.preconditions.tokens, connection.client);
      return false;
    } catch {
      return true;
    }
  }

  async #ingest(
    connection: Connection,
    req: PacedRequest,
    res: ServerResponse,
    info: RequestInfo,
  ): Promise<Counts> {
    const { preconditions, append, telemetry } = this.#context;
    const encoding = checkPreconditions(req, connection, preconditions);
    const permit = this.#admission.admit(connection.network, Number(req.headers['content-length'] ?? 0));
    try {
      if (expectsContinue(req)) res.writeContinue();
      const { turns } = this.#connections;
      const body = await readBody(req, preconditions.bodyLimitBytes, permit, turns, (part) => {
        info.body = part;
      });
      info.body = body;
      const burst = this.#acceptBurst.ended();
      if (burst !== undefined) await burst;
      const isSmall = encoding === 'identity' && body.length <= SMALL_BODY_BYTES;
      const events = isSmall ? this.#decode(body) : await this.#parseInTurn(body, encoding, permit, info);
      const [first] = events;
      const received = { monotonic: performance.now(), wall: Date.now() };
      if (first !== undefined)
        info.camera = { source: first.source, court_id: first.courtId, events: events.length };
      const counts = first === undefined ? NO_EVENTS : await append(events);
      if (connection.isLocal) telemetry.imported(events, counts);
      else telemetry.stored(info.client, events, counts, received);
      return counts;
    } finally {
      permit.release();
    }
  }

  /**
   * Parses large or compressed bodies one after the other: for LARGE_BODY_MS a turn, and for half of the time at most, so that
   * other requests are served in between. Batches parsed in the same turn share a commit.
   */
  async #parseInTurn(
    body: Buffer,
    encoding: BodyEncoding,
    permit: Permit,
    info: RequestInfo,
  ): Promise<CourtEvent[]> {
    const queuedAt = performance.now();
    const { promise, resolve } = Promise.withResolvers<number>();
    const previous = this.#lastLargeBody;
    this.#lastLargeBody = promise;
    const spentMs = await previous;
    let startedAt = performance.now();
    try {
      if (startedAt - queuedAt > BODY_QUEUE_MS)
        throw overloaded('Too many large requests are already in progress');
      if (encoding === 'identity') return this.#decode(body);
      const decoded = await gunzip(body, this.#context.preconditions.bodyLimitBytes);
      // Other requests were served while a thread of Node's pool decompressed it.
      startedAt = performance.now();
      freeBody(body);
      info.body = decoded;
      permit.reserveBody(decoded.length);
      return this.#decode(decoded);
    } finally {
      const totalMs = spentMs + performance.now() - startedAt;
      if (totalMs < LARGE_BODY_MS) resolve(totalMs);
      else setTimeout(resolve, totalMs, 0);
    }
  }

  #decode(body: Buffer): CourtEvent[] {
    if (body[0] === 0x1f && body[1] === 0x8b) {
      throw new Problem('invalid_json', 'The body is gzip: add "Content-Encoding: gzip".');
    }
    return decodeBatch(body, this.#context.rules);
  }

  #toProblem(error: unknown, info: RequestInfo): Problem {
    if (error instanceof Problem) return error;
    this.#context.log.error({ request_id: info.id, err: error }, 'a bug in courtd: please report it');
    const sentence = `Something went wrong in this box. Send the same request again, and give the operator this id: "${info.id}".`;
    return new Problem('internal_error', sentence);
  }
}

/** What was refused for its content has a valid token, and was read as a whole. */
function isForContent({ code, members }: Problem): boolean {
  return CONTENT_CODES.includes(code) || (code === 'body_too_large' && members.limit_values !== undefined);
}

const CONTENT_CODES: readonly ProblemCode[] = [
  'invalid_encoding',
  'invalid_json',
  'too_deep',
  'too_many_events',
  'invalid_event',
];

/** A client without a valid token gets one response. */
function mustClose(connection: Connection, { code }: Problem): boolean {
  return code === 'unauthorized' || !connection.isAuthenticated;
}

/** Frees a body that nobody needs any more. A large one has its memory for itself; a small one may be a part of what was read at once. */
function freeBody(body: Buffer): void {
  if (body.length > SMALL_BODY_BYTES) freeMemory(body.buffer);
  else freeBuffer(body);
}

/** HTTP/1.0 has no 100 (RFC 9110, 10.1.1). */
function expectsContinue(req: IncomingMessage): boolean {
  return req.headers.expect !== undefined && req.httpVersion === '1.1';
}
