import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { DRAIN_BYTES } from '../protocol/limits.ts';
import type { Problem } from '../protocol/problems.ts';
import { drain } from './drain.ts';
import type { CourtRequest } from './request.ts';

/** The one writer of answers. */

const PROBLEM_TYPE = 'application/problem+json';

/** 202 and nothing else in it (design 2). Call it only after the commit. */
export function replyAccepted(res: ServerResponse, accepted: number, duplicates: number): void {
  const body = `{"accepted":${accepted},"duplicates":${duplicates}}`;
  res.writeHead(202, { 'Content-Type': 'application/json', 'Content-Length': body.length });
  res.end(body);
}

/** 100, when it is this answer's turn on its connection: before that, Node would write it into the answer. */
export function writeContinue(res: ServerResponse): void {
  if (res.socket !== null) return res.writeContinue();
  res.once('socket', () => {
    if (!res.headersSent) res.writeContinue();
  });
}

/** An error. If its request is still being sent, the sender gets to read it first: written whole, drained, then ended. */
export function replyProblem(
  req: CourtRequest,
  res: ServerResponse,
  problem: Problem,
  requestId: string,
): void {
  if (res.headersSent || res.destroyed) return;
  const body = Buffer.from(problem.body(requestId));
  const mustClose = expectsContinue(req) || Number(req.headers['content-length'] ?? 0) > DRAIN_BYTES;
  res.writeHead(problem.status, {
    ...headersOf(problem, body),
    ...(mustClose ? { Connection: 'close' } : {}),
  });
  if (req.complete || !hasBody(req)) {
    res.end(body);
    return;
  }
  res.write(body);
  drain(req, () => res.end());
}

/** For a connection whose request never became one: the same answer, written by hand, and the end of it. */
export function replyRaw(socket: Duplex, problem: Problem, requestId: string): void {
  const body = Buffer.from(problem.body(requestId));
  const fields = { Date: new Date().toUTCString(), ...headersOf(problem, body), Connection: 'close' };
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${head.join('')}\r\n`);
  socket.write(body);
  endRaw(socket);
}

/** The end of a connection without a parser: what still comes is thrown away, so that it does not turn our answer into a reset. */
export function endRaw(socket: Duplex): void {
  socket.removeAllListeners('data');
  drain(socket, () => socket.destroy());
  socket.end();
}

function headersOf(problem: Problem, body: Buffer): Record<string, string | number> {
  const { headers } = problem;
  return {
    'Content-Type': PROBLEM_TYPE,
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
    ...headers,
  };
}

function hasBody(req: CourtRequest): boolean {
  const length = req.headers['content-length'];
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0);
}

/** Such a sender may leave its body out after an error, and what follows would be taken for it (RFC 9110, 10.1.1). */
function expectsContinue(req: CourtRequest): boolean {
  return req.headers.expect !== undefined;
}
