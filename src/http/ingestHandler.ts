import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { BODY_WAIT_MS, SMALL_BODY_BYTES } from '../base/limits.ts';
import { decodeBatch } from '../protocol/decodeBatch.ts';
import { Problem } from '../protocol/errors.ts';
import type { CourtEvent } from '../protocol/event.ts';
import type { EventRules } from '../protocol/validate.ts';
import type { Counts } from '../store/write/appendEvents.ts';
import type { AccessLog, RequestMark } from './accessLog.ts';
import type { AcceptBurst } from './admission/acceptBurst.ts';
import { type AdmissionControl, type Place, tooMuch } from './admission/admissionControl.ts';
import type { Connection } from './connection/connection.ts';
import type { Connections } from './connection/connections.ts';
import type { PacedRequest } from './connection/pacedRequest.ts';
import { readBody, SenderGone } from './request/bodyReader.ts';
import { gunzip } from './request/gunzip.ts';
import { type BodyEncoding, checkPreconditions, type Preconditions } from './request/preconditions.ts';
import { acceptance, refusal } from './response.ts';

/**
 * One that took longer is followed by a pause as long: Node accepts one connection in a turn of the event loop, and cameras that
 * connect would wait for a turn each.
 */
const LARGE_BODY_MS = 5;

/** What the ingest path works with. */
export interface IngestContext {
  readonly gate: Preconditions;
  readonly rules: EventRules;
  readonly log: Logger;
  readonly traffic: AccessLog;
  /** Stores events; resolves when they are on disk. */
  append(events: readonly CourtEvent[]): Promise<Counts>;
}

/** Of an id that says nothing of how many there were. */
const ID_CHARS = 13;
const NOTHING: Counts = { accepted: 0, duplicates: 0, conflicts: 0 };

/** The one thing this server does: a request's way from its head to its answer (design 6). */
export class IngestHandler {
  readonly #context: IngestContext;
  readonly #admission: AdmissionControl;
  readonly #connections: Connections;
  readonly #arrivals: AcceptBurst;
  /** Settles when the last of the large bodies that wait has been parsed: with the milliseconds that they took since a turn ended. */
  #lastLarge: Promise<number> = Promise.resolve(0);

  constructor(
    context: IngestContext,
    admission: AdmissionControl,
    connections: Connections,
    arrivals: AcceptBurst,
  ) {
    this.#context = context;
    this.#admission = admission;
    this.#connections = connections;
    this.#arrivals = arrivals;
  }

  /** Names a request in the log and in its answer, if that is an error. */
  mark({ client }: Connection): RequestMark {
    return { id: randomUUID().slice(0, ID_CHARS), client, startedAt: performance.now() };
  }

  /** Answers a request: with 202 once its events are on disk. */
  async handle(connection: Connection, req: PacedRequest, res: ServerResponse): Promise<void> {
    const mark = this.mark(connection);
    try {
      const counts = await this.#store(connection, req, res, mark);
      connection.answer(acceptance(counts), false);
      this.#context.traffic.accepted(mark, counts);
    } catch (error) {
      if (error instanceof SenderGone) return this.#context.traffic.gone(mark);
      const problem = this.#asProblem(error, mark);
      this.#note(connection, mark, problem);
      // Such a sender may leave its body out after an error, and what follows would be taken for it (RFC 9110, 10.1.1).
      const mayLeaveOut = req.headers.expect !== undefined;
      connection.answer(refusal(problem, mark.id), mayLeaveOut || mustEnd(connection, problem));
    }
  }

  /** The same where there is no request, or none that Node would answer. */
  refuseRaw(connection: Connection, problem: Problem): void {
    const mark = this.mark(connection);
    this.#note(connection, mark, problem);
    connection.answerRaw(refusal(problem, mark.id));
  }

  #note(connection: Connection, mark: RequestMark, problem: Problem): void {
    const isStranger = problem.code === 'unauthorized' || !connection.hasToken;
    if (isStranger && problem.code !== 'request_timeout') this.#connections.wasRefused(connection.network);
    this.#context.traffic.refused(mark, problem);
  }

  async #store(
    connection: Connection,
    req: PacedRequest,
    res: ServerResponse,
    mark: RequestMark,
  ): Promise<Counts> {
    const { gate, append } = this.#context;
    const encoding = checkPreconditions(req, connection, gate);
    const place = this.#admission.enter(connection.network, Number(req.headers['content-length'] ?? 0));
    try {
      if (mustContinue(req)) res.writeContinue();
      const body = await readBody(req, connection, gate.bodyLimitBytes, place);
      await this.#arrivals.over();
      const events = await this.#parse(body, encoding, place);
      const [first] = events;
      if (first === undefined) return NOTHING;
      mark.sender = { source: first.source, court_id: first.courtId };
      return await append(events);
    } finally {
      place.leave();
    }
  }

  /**
   * What may take long goes one after the other, for LARGE_BODY_MS in a turn and half of the time at most: in between the others
   * are served. Batches that fit into one turn are committed together.
   */
  async #parse(body: Buffer, encoding: BodyEncoding, place: Place): Promise<CourtEvent[]> {
    if (encoding === 'identity' && body.length <= SMALL_BODY_BYTES) return this.#events(body);
    const cameAt = performance.now();
    const { promise, resolve } = Promise.withResolvers<number>();
    const before = this.#lastLarge;
    this.#lastLarge = promise;
    let spentMs = await before;
    if (spentMs >= LARGE_BODY_MS) {
      await nextTurn();
      spentMs = 0;
    }
    let startedAt = performance.now();
    try {
      if (startedAt - cameAt > BODY_WAIT_MS) throw tooMuch('Too many large requests are waiting');
      if (encoding === 'identity') return this.#events(body);
      const decoded = await gunzip(body, this.#context.gate.bodyLimitBytes);
      // The others have been served while it was unpacked.
      startedAt = performance.now();
      place.grow(decoded.length);
      return this.#events(decoded);
    } finally {
      const tookMs = performance.now() - startedAt;
      if (tookMs < LARGE_BODY_MS) resolve(spentMs + tookMs);
      else setTimeout(resolve, tookMs, 0);
    }
  }

  #events(body: Buffer): CourtEvent[] {
    if (body[0] === 0x1f && body[1] === 0x8b) {
      throw new Problem('invalid_json', 'The body is gzip: add "Content-Encoding: gzip".');
    }
    return decodeBatch(body, this.#context.rules);
  }

  #asProblem(error: unknown, mark: RequestMark): Problem {
    if (error instanceof Problem) return error;
    this.#context.log.error({ request_id: mark.id, err: error }, 'a fault of courtd: please report it');
    const sentence = `Something went wrong here. Send the same request again, and tell the operator "${mark.id}".`;
    return new Problem('internal_error', sentence);
  }
}

/** Whoever has no valid token gets one answer. */
function mustEnd(connection: Connection, { code }: Problem): boolean {
  return code === 'unauthorized' || !connection.hasToken;
}

/** HTTP/1.0 knows no 100 (RFC 9110, 10.1.1). */
function mustContinue(req: IncomingMessage): boolean {
  return req.headers.expect !== undefined && req.httpVersion === '1.1';
}
