import type { Socket } from 'node:net';
import { HEADERS_BYTES, HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS, RETRY_AFTER_S } from '../protocol/limits.ts';
import { Problem, retryLater } from '../protocol/problems.ts';

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
    case 'HPE_INVALID_EOF_STATE':
      return new Problem(
        'request_timeout',
        'The connection ended before the request was complete: send it again.',
      );
    // Node stops its parser while many answers are not taken. Over TLS it is then given the rest of what has been read all
    // the same, and takes that for a broken request.
    case 'HPE_PAUSED': {
      const sentence =
        'Too many requests came behind one another: this one and those behind it were not read. Send them again.';
      return retryLater('overloaded', sentence, RETRY_AFTER_S.overloaded);
    }
    default:
      return new Problem('malformed_request', 'This is not an HTTP/1.1 request.');
  }
}

/**
 * Nothing that comes from now on is a request. After HPE_PAUSED, Node's parser goes on when answers are taken, behind what it
 * has dropped: in the middle of a body, whose end would be somebody else's, or with the answers one off.
 */
export function dropParser(socket: Socket): void {
  socket.removeAllListeners('data');
  // Node takes its parser from a connection that has a listener.
  socket.on('data', () => {});
}
