import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { HEADERS_BYTES, HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../protocol/limits.ts';
import { Problem } from '../protocol/problems.ts';

/** What Node's parser gave up on, as a problem with our body instead of Node's empty one. */
export function parserProblem(error: NodeJS.ErrnoException): Problem {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('headers_too_large', `The headers are larger than ${HEADERS_BYTES} bytes.`);
    case 'ERR_HTTP_REQUEST_TIMEOUT': {
      const [headers, whole] = [HEADERS_TIMEOUT_MS / 1000, REQUEST_TIMEOUT_MS / 1000];
      const sentence = `The request took too long: headers have ${headers} s, the whole request ${whole} s.`;
      return new Problem('request_timeout', sentence);
    }
    default:
      return new Problem('malformed_request', 'This is not an HTTP/1.1 request.');
  }
}

/** The last answer that each connection still owes. */
const owed = new WeakMap<Duplex, ServerResponse>();

export function noteOwed(socket: Duplex, res: ServerResponse): void {
  owed.set(socket, res);
}

/**
 * After the parser gave up on a connection: `answer` is called when it is its turn. Before it come answers to
 * requests that were complete; a request whose own body is broken or too slow will never be one, and is not owed any.
 */
export function whenItsTurn(socket: Duplex, answer: () => void): void {
  const res = owed.get(socket);
  if (res === undefined || res.writableFinished || !res.req.complete)
    return res?.headersSent ? undefined : answer();
  res.once('finish', answer);
}
