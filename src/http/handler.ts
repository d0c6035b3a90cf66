import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { BODY_QUEUE_MS, SMALL_BODY_BYTES } from '../base/limits.ts';
import type { CourtEvent } from '../protocol/courtEvent.ts';
import { decodeBatch } from '../protocol/decodeBatch.ts';
import { Problem } from '../protocol/errors.ts';
import type { EventRules } from '../protocol/validate.ts';
import type { RefusedRequests } from '../store/refused/refusedRequests.ts';
import { tokenRemoved } from '../store/refused/tokenRemoved.ts';
import type { Counts } from '../store/write/appender.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { type AccessLog, RequestInfo } from './accessLog.ts';
import { type BodyRoom, overloaded } from './admission.ts';
import { shownToken } from './bearerToken.ts';
import { ClientDisconnected, gunzip, isGzip, readBody } from './body.ts';
import { acceptedResponse, type Connection, type PendingRequest, problemResponse } from './connection.ts';
import type { Connections } from './connections.ts';
import { type BodyEncoding, checkPreconditions, type PreconditionContext } from './preconditions.ts';

/**
 * Milliseconds of a turn of the event loop for parsing large bodies: enough for eight batches of 500 events, which share a commit
 * (../ARCHITECTURE.md#group-commit). A pause of the same length follows, in which cameras are served and accepted.
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
  readonly keepRefused?: RefusedRequests['keep'];
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
  async handle(connection: Connection, request: PendingRequest): Promise<void> {
    const info = new RequestInfo(connection.client);
    const { req } = request;
    try {
      await this.#ingest(connection, request, info);
    } catch (error) {
      if (error instanceof ClientDisconnected) return this.#context.accessLog.aborted(info);
      const problem = this.#toProblem(error, info);
      this.#recordRejection(connection, info, problem, req);
      const isStranger = problem.code === 'unauthorized' || !connection.isAuthenticated;
      // After an error, a client that sent Expect may omit the body; the next request would be read as the body (RFC 9110, 10.1.1).
      const mustClose = isStranger || req.headers.expect !== undefined;
      // A small body often comes with its head, so that the connection can stay open.
      if (!mustClose && !req.complete) await nextTurn();
      connection.respond(problemResponse(problem, info.id), mustClose);
    }
  }

  /** Rejects input that is no request; closes the connection. */
  rejectRaw(connection: Connection, problem: Problem): void {
    const info = new RequestInfo(connection.client);
    this.#recordRejection(connection, info, problem);
    connection.respondRaw(problemResponse(problem, info.id));
  }

  /** Rejects a CONNECT, which has no response of Node's: with a token too, since the address of a tunnel is no path of this box. */
  rejectConnect(connection: Connection, req: IncomingMessage): void {
    try {
      checkPreconditions(req, connection, this.#context.preconditions, () => {});
    } catch (problem) {
      this.rejectRaw(connection, problem as Problem);
    }
  }

  async #ingest(connection: Connection, request: PendingRequest, info: RequestInfo): Promise<void> {
    const { preconditions, rules, append, telemetry, accessLog } = this.#context;
    const { req, res } = request;
    const { admission } = this.#connections;
    const encoding = checkPreconditions(req, connection, preconditions, () => {
      this.#connections.markAuthenticated(connection);
      admission.takeRequest(connection.client);
    });
    const room = admission.bodyRoom();
    try {
      room.reserve(Number(req.headers['content-length'] ?? 0));
      if (req.headers.expect !== undefined && req.httpVersion === '1.1') res.writeContinue();
      const body = await readBody(request, preconditions.bodyLimitBytes, admission, room);
      info.body = body;
      const isSmall = encoding === 'identity' && !isGzip(body) && body.length <= SMALL_BODY_BYTES;
      const events = isSmall ? decodeBatch(body, rules) : await this.#parseInTurn(info, encoding, room);
      const [first] = events;
      const received = { monotonic: performance.now(), wall: Date.now() };
      if (first !== undefined)
        info.camera = { source: first.source, court_id: first.courtId, events: events.length };
      const counts = first === undefined ? NO_EVENTS : await append(events);
      // First of all: a camera that sends one event after another waits for it.
      connection.respond(acceptedResponse(counts), false);
      if (connection.isLocal) telemetry.imported(counts);
      else telemetry.stored(info.client, events, counts, received);
      accessLog.accepted(info, counts);
    } finally {
      room.release();
    }
  }

  /**
   * Parses large or compressed bodies one after the other: for LARGE_BODY_MS a turn, and for half of the time at most, so that
   * other requests are served in between. Batches parsed in the same turn share a commit.
   */
  async #parseInTurn(info: RequestInfo, encoding: BodyEncoding, room: BodyRoom): Promise<CourtEvent[]> {
    const queuedAt = performance.now();
    const { promise, resolve } = Promise.withResolvers<number>();
    const previous = this.#lastLargeBody;
    this.#lastLargeBody = promise;
    const spentMs = await previous;
    let startedAt = performance.now();
    try {
      if (startedAt - queuedAt > BODY_QUEUE_MS) throw overloaded();
      const body = info.body!;
      if (encoding === 'identity' && !isGzip(body)) return decodeBatch(body, this.#context.rules);
      const decompressed = gunzip(body, this.#context.preconditions.bodyLimitBytes);
      info.body = await (encoding === 'gzip' ? decompressed : decompressed.catch(() => body));
      // Other requests were served while a thread of Node's pool decompressed it.
      startedAt = performance.now();
      room.reserve(info.body.length);
      if (encoding === 'identity')
        throw new Problem('invalid_json', 'The body is gzip. Add "Content-Encoding: gzip".');
      return decodeBatch(info.body, this.#context.rules);
    } finally {
      const totalMs = spentMs + performance.now() - startedAt;
      if (totalMs < LARGE_BODY_MS) resolve(totalMs);
      else setTimeout(resolve, totalMs, 0);
    }
  }

  /** For the operator: a line of the log, and the book of rejected requests. */
  #recordRejection(connection: Connection, info: RequestInfo, problem: Problem, req?: IncomingMessage): void {
    // A 401 quotes nothing of its request, and what was sent as its token may be any text.
    const token = req === undefined || problem.code === 'unauthorized' ? undefined : shownToken(req);
    const { id, client, body } = info;
    const { code, status, members } = problem;
    const facts = { ...info.camera, ...problem.logFields, error: problem.message };
    // A camera may have put the token into any field.
    const shown: typeof facts = JSON.parse(tokenRemoved(JSON.stringify(facts), token));
    const refused = { id, client, status, code, ...shown };
    this.#context.accessLog.rejected(info, refused);
    // An import reports it to its user, who still has the file.
    if (connection.isLocal) return;
    const atMs = this.#context.telemetry.refused(refused);
    // A body that was read as a whole, if its content was at fault. In one that is still gzip, nobody finds the token.
    const isKept = (status === 400 || members.limit_values !== undefined) && !isGzip(body);
    this.#context.keepRefused?.(refused, atMs, isKept ? body : undefined, token);
  }

  #toProblem(error: unknown, info: RequestInfo): Problem {
    if (error instanceof Problem) return error;
    this.#context.log.error({ request_id: info.id, err: error }, 'a bug in courtd: please report it');
    const sentence = `Something went wrong in this box. Send the same request again, and give the operator this id: "${info.id}".`;
    return new Problem('internal_error', sentence);
  }
}
