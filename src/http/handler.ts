import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { BODY_QUEUE_MS, SMALL_BODY_BYTES } from '../base/limits.ts';
import { decodeBatch } from '../protocol/decodeBatch.ts';
import { Problem, type ProblemCode } from '../protocol/errors.ts';
import type { CourtEvent } from '../protocol/event.ts';
import type { EventRules } from '../protocol/validate.ts';
import type { Counts } from '../store/write/appender.ts';
import type { KeptRequest } from '../telemetry/refusals.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { type AccessLog, RequestInfo } from './accessLog.ts';
import { overloaded } from './admission.ts';
import { shownToken } from './bearerToken.ts';
import { ClientDisconnected, gunzip, readBody } from './body.ts';
import type { Connection } from './connection.ts';
import type { Connections } from './connections.ts';
import { type BodyEncoding, checkPreconditions, type PreconditionContext } from './preconditions.ts';
import { acceptedResponse, problemResponse } from './response.ts';
import { redactFields, redactProblem } from './tokenRedaction.ts';

/**
 * Milliseconds of a turn of the event loop for parsing large bodies. A pause of the same length follows, in which cameras are served
 * and accepted. 5 ms were enough for only four batches of 500 events, so that eight that had arrived took two commits
 * (../ARCHITECTURE.md#group-commit).
 */
const LARGE_BODY_MS = 10;

/** What the ingest path depends on. */
export interface IngestContext {
  readonly preconditions: PreconditionContext;
  readonly rules: EventRules;
  readonly log: Logger;
  readonly accessLog: AccessLog;
  readonly telemetry: Telemetry;
  /** Stores events. Resolves once they are on disk; rejects with a Problem if they are not stored. */
  append(events: readonly CourtEvent[]): Promise<Counts>;
  keepRefused?(request: KeptRequest): void;
}

const NO_EVENTS: Counts = { accepted: 0, duplicates: 0, conflicts: 0 };

/** The ingest path: from the head of a request to its response. */
export class IngestHandler {
  readonly #context: IngestContext;
  readonly #connections: Connections;
  /** The tail of the queue of large bodies: resolves to the milliseconds that they have used since the last pause. */
  #lastLargeBody: Promise<number> = Promise.resolve(0);

  constructor(context: IngestContext, connections: Connections) {
    this.#context = context;
    this.#connections = connections;
  }

  /** Answers a request: 202 once its events are on disk, a problem otherwise. Never throws. */
  async handle(connection: Connection, req: IncomingMessage, res: ServerResponse): Promise<void> {
    const info = new RequestInfo(connection.client);
    try {
      const counts = await this.#ingest(connection, req, res, info);
      connection.respond(acceptedResponse(counts), false);
      this.#context.accessLog.accepted(info, counts);
    } catch (error) {
      if (error instanceof ClientDisconnected) return this.#context.accessLog.aborted(info);
      const problem = this.#toProblem(error, info);
      this.#recordRejection(connection, info, problem, req);
      // After an error, a client that sent Expect may omit the body; the next request would be read as the body (RFC 9110, 10.1.1).
      const mayOmitBody = req.headers.expect !== undefined;
      // A client without a valid token gets one response.
      const isStranger = problem.code === 'unauthorized' || !connection.isAuthenticated;
      connection.respond(problemResponse(problem, info.id), mayOmitBody || isStranger);
    }
  }

  /** Answers a CONNECT, which fails one of the checks as any method but POST does, and for which Node has no ServerResponse. */
  rejectConnect(connection: Connection, req: IncomingMessage): void {
    try {
      checkPreconditions(req, connection, this.#context.preconditions, () => {});
    } catch (error) {
      const info = new RequestInfo(connection.client);
      this.rejectRaw(connection, this.#toProblem(error, info), info);
    }
  }

  /** Rejects what Node has no ServerResponse for, such as input that never became a request; closes the connection. */
  rejectRaw(connection: Connection, problem: Problem, info = new RequestInfo(connection.client)): void {
    this.#recordRejection(connection, info, problem);
    connection.respondRaw(problemResponse(problem, info.id));
  }

  async #ingest(
    connection: Connection,
    req: IncomingMessage,
    res: ServerResponse,
    info: RequestInfo,
  ): Promise<Counts> {
    const { preconditions, append, telemetry } = this.#context;
    const { admission, turns } = this.#connections;
    const encoding = checkPreconditions(req, connection, preconditions, () => {
      this.#connections.markAuthenticated(connection);
      admission.takeRequest(connection.client);
    });
    let held = admission.reserveBody(0, Number(req.headers['content-length'] ?? 0));
    const reserve = (bytes: number) => {
      held = admission.reserveBody(held, bytes);
    };
    try {
      // HTTP/1.0 has no 100 (RFC 9110, 10.1.1).
      if (req.headers.expect !== undefined && req.httpVersion === '1.1') res.writeContinue();
      const body = await readBody(req, {
        limitBytes: preconditions.bodyLimitBytes,
        turns,
        reserve,
        onFail: (fail) => {
          if (connection.pending !== undefined) connection.pending.failBody = fail;
        },
      });
      info.body = body;
      const isSmall = encoding === 'identity' && body.length <= SMALL_BODY_BYTES;
      const events = isSmall ? this.#decode(body) : await this.#parseInTurn(body, encoding, reserve, info);
      const [first] = events;
      const received = { monotonic: performance.now(), wall: Date.now() };
      if (first !== undefined)
        info.camera = { source: first.source, court_id: first.courtId, events: events.length };
      const counts = first === undefined ? NO_EVENTS : await append(events);
      if (connection.isLocal) telemetry.imported(counts);
      else telemetry.stored(info.client, events, counts, received);
      return counts;
    } finally {
      admission.release(held);
    }
  }

  /**
   * Parses large or compressed bodies one after the other: for LARGE_BODY_MS a turn, and for half of the time at most, so that
   * other requests are served in between. Batches parsed in the same turn share a commit.
   */
  async #parseInTurn(
    body: Buffer,
    encoding: BodyEncoding,
    reserve: (bytes: number) => void,
    info: RequestInfo,
  ): Promise<CourtEvent[]> {
    const queuedAt = performance.now();
    const { promise, resolve } = Promise.withResolvers<number>();
    const previous = this.#lastLargeBody;
    this.#lastLargeBody = promise;
    const spentMs = await previous;
    let startedAt = performance.now();
    try {
      if (startedAt - queuedAt > BODY_QUEUE_MS) throw overloaded();
      if (encoding === 'identity') return this.#decode(body);
      info.body = await gunzip(body, this.#context.preconditions.bodyLimitBytes);
      // Other requests were served while a thread of Node's pool decompressed it.
      startedAt = performance.now();
      reserve(info.body.length);
      return this.#decode(info.body);
    } finally {
      const totalMs = spentMs + performance.now() - startedAt;
      if (totalMs < LARGE_BODY_MS) resolve(totalMs);
      else setTimeout(resolve, totalMs, 0);
    }
  }

  #decode(body: Buffer): CourtEvent[] {
    if (body[0] === 0x1f && body[1] === 0x8b) {
      throw new Problem('invalid_json', 'The body is gzip. Add "Content-Encoding: gzip".');
    }
    return decodeBatch(body, this.#context.rules);
  }

  /** For the operator: a line of the log, and the book of rejected requests. */
  #recordRejection(connection: Connection, info: RequestInfo, problem: Problem, req?: IncomingMessage): void {
    // A 401 quotes nothing of its request, and what was sent as its token may be any text.
    const token = req === undefined || problem.code === 'unauthorized' ? undefined : shownToken(req);
    const { id, client, camera, body } = info;
    const told = redactProblem(problem, token);
    const known = { ...redactFields({ ...camera }, token), ...told.logFields };
    const refused = { id, client, problem: told, camera: known };
    this.#context.accessLog.rejected(info, refused);
    // An import reports it to its user, who still has the file.
    if (connection.isLocal) return;
    const atMs = this.#context.telemetry.refused(refused);
    const kept = isForContent(problem) ? body : undefined;
    this.#context.keepRefused?.({ ...refused, atMs, body: kept, token });
  }

  #toProblem(error: unknown, info: RequestInfo): Problem {
    if (error instanceof Problem) return error;
    this.#context.log.error({ request_id: info.id, err: error }, 'a bug in courtd: please report it');
    const sentence = `Something went wrong in this box. Send the same request again, and give the operator this id: "${info.id}".`;
    return new Problem('internal_error', sentence);
  }
}

/** What was rejected for its content has a valid token, and was read as a whole. */
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
