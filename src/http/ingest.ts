import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { CourtEvent } from '../protocol/event.ts';
import type { EventRules } from '../protocol/faults.ts';
import { Problem, type ProblemCode } from '../protocol/problems.ts';
import type { Counts } from '../store/append.ts';
import { readBody, SenderGone } from './body.ts';
import { type Gate, passGate } from './gate.ts';
import { holdBehind, rest, wakeAll } from './hold.ts';
import { isLastOwed } from './owed.ts';
import { Parser } from './parser.ts';
import { replyAccepted, replyProblem, writeContinue } from './reply.ts';
import type { CourtRequest } from './request.ts';
import { Room } from './room.ts';
import { FairShare } from './share.ts';
import type { RequestMark, Traffic } from './traffic.ts';
import { Turns } from './turns.ts';

/** What the ingest path works with. */
export interface IngestContext {
  readonly gate: Gate;
  readonly rules: EventRules;
  readonly log: Logger;
  readonly traffic: Traffic;
  /** Stores events; resolves when they are on disk. */
  append(events: readonly CourtEvent[]): Promise<Counts>;
}

const TOO_MUCH: readonly ProblemCode[] = ['overloaded', 'rate_limited'];
const NOTHING: Counts = { accepted: 0, duplicates: 0, conflicts: 0 };

/** The one thing this server does: a request's way from its head to its answer (design 6). */
export class Ingest {
  readonly #context: IngestContext;
  readonly #room = new Room();
  readonly #share = new FairShare();
  readonly #turns = new Turns();
  readonly #parser: Parser;
  readonly #run = randomBytes(3).toString('hex');
  #requests = 0;
  #isClosing = false;

  constructor(context: IngestContext) {
    this.#context = context;
    this.#parser = new Parser({ rules: context.rules, bodyLimitBytes: context.gate.bodyLimitBytes });
  }

  /** Names a request in the log and in its answer, if that is an error. */
  mark(address: string | undefined): RequestMark {
    const id = `${this.#run}-${(++this.#requests).toString(36)}`;
    return { id, client: (address ?? 'unknown').replace(/^::ffff:/, ''), startedAt: performance.now() };
  }

  /** @param expectsContinue the client waits for a 100 before it sends the body (RFC 9110, section 10.1.1). */
  async handle(req: CourtRequest, res: ServerResponse, expectsContinue: boolean): Promise<void> {
    const mark = this.mark(req.socket.remoteAddress);
    try {
      const counts = await this.#store(req, res, mark, expectsContinue);
      this.#endIfClosing(req, res);
      replyAccepted(res, counts.accepted, counts.duplicates);
      this.#context.traffic.accepted(mark, counts);
    } catch (error) {
      if (error instanceof SenderGone) return this.#context.traffic.gone(mark);
      this.refuse(req, res, mark, this.#asProblem(error, mark));
    }
  }

  refuse(req: CourtRequest, res: ServerResponse, mark: RequestMark, problem: Problem): void {
    this.#endIfClosing(req, res);
    if (TOO_MUCH.includes(problem.code) && !this.#isClosing)
      rest(req.socket, res, Number(problem.headers['Retry-After']));
    replyProblem(req, res, problem, mark.id);
    this.#context.traffic.refused(mark, problem);
  }

  /** New ones come first. */
  connectionCame(): void {
    this.#turns.connectionCame();
  }

  /** From now on each connection ends with the last answer that it is owed. */
  endConnections(): void {
    this.#isClosing = true;
    wakeAll();
  }

  #endIfClosing(req: CourtRequest, res: ServerResponse): void {
    if (this.#isClosing && isLastOwed(req.socket, res)) res.shouldKeepAlive = false;
  }

  async #store(
    req: CourtRequest,
    res: ServerResponse,
    mark: RequestMark,
    expectsContinue: boolean,
  ): Promise<Counts> {
    const { gate, append } = this.#context;
    const encoding = passGate(req, mark.client, gate);
    this.#share.enter(mark.client);
    const place = this.#room.enter(Number(req.headers['content-length'] ?? 0));
    try {
      if (expectsContinue) writeContinue(res);
      const body = await readBody(req, gate.bodyLimitBytes, this.#room, place);
      holdBehind(req.socket, res);
      await this.#turns.take(mark.client, body.length);
      const { events, decodedBytes } = await this.#parser.parse(mark.client, body, encoding);
      this.#room.adjust(place, decodedBytes);
      return events.length === 0 ? NOTHING : await append(events);
    } finally {
      this.#room.leave(place);
      this.#share.leave(mark.client);
    }
  }

  #asProblem(error: unknown, mark: RequestMark): Problem {
    if (error instanceof Problem) return error;
    this.#context.log.error({ request_id: mark.id, err: error }, 'a fault of courtd: please report it');
    const sentence = `Something went wrong here. Send the same request again, and tell the operator "${mark.id}".`;
    return new Problem('internal_error', sentence);
  }
}
