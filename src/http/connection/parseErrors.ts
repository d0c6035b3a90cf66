import {
  HEADER_FIELDS,
  HEADERS_BYTES,
  HEADERS_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
  RETRY_AFTER_S,
} from '../../base/limits.ts';
import { Problem, retryLater } from '../../protocol/errors.ts';

/** The content type of the first TLS record (RFC 8446, 5.1). */
const TLS_HANDSHAKE = 0x16;

/** An error of Node's HTTP parser. */
export interface ParseError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
  /** The rule that was broken, in the parser's words; it quotes nothing of the input. */
  readonly reason?: string;
}

/**
 * @param isInBody whether the parser failed in the body of a request whose head was valid.
 * @returns the problem to answer with, in place of Node's response without a body: 400 malformed_request, 408 request_timeout,
 * 431 headers_too_large or 503 overloaded.
 */
export function parserProblem({ code, rawPacket, reason }: ParseError, isInBody: boolean): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem(
        'headers_too_large',
        `The headers are larger than ${HEADERS_BYTES} bytes, or there are more than ${HEADER_FIELDS} of them.`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT': {
      const [headers, whole] = [HEADERS_TIMEOUT_MS / 1000, REQUEST_TIMEOUT_MS / 1000];
      const sentence = `The request took too long: its headers must arrive within ${headers} s, all of it within ${whole} s.`;
      return new Problem('request_timeout', sentence);
    }
    case 'HPE_INVALID_EOF_STATE':
      return new Problem(
        'request_timeout',
        'The connection ended before the request was complete: send it again.',
      );
    case 'HPE_PAUSED_H2_UPGRADE':
      return new Problem('malformed_request', 'This is HTTP/2; this box speaks HTTP/1.1.');
    // Node pauses its parser while a response is not read. Over TLS, the rest of what it has read is lost then.
    case 'HPE_PAUSED':
      return retryLater(
        'overloaded',
        'The previous response was not read, and this request was lost. Send it again.',
        RETRY_AFTER_S.overloaded,
      );
    default:
      return new Problem('malformed_request', malformedSentence(isInBody, rawPacket, reason));
  }
}

function malformedSentence(isInBody: boolean, rawPacket?: Buffer, reason?: string): string {
  if (isInBody) {
    return (
      'The body is malformed: with "Transfer-Encoding: chunked", each chunk begins with its size in hexadecimal digits and holds ' +
      'exactly as many bytes (RFC 9112, 7.1).'
    );
  }
  if (rawPacket?.[0] === TLS_HANDSHAKE && rawPacket[1] === 3) {
    return 'This is TLS, and this port speaks plain HTTP: use http:// here, or give the box a certificate.';
  }
  return `This is not an HTTP/1.1 request${reason === undefined ? '' : ` (${reason})`}.`;
}
