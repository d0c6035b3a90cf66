import {
  HEADER_FIELDS,
  HEADERS_BYTES,
  HEADERS_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
  RETRY_AFTER_S,
} from '../../base/limits.ts';
import { Problem, retryLater } from '../../protocol/errors.ts';

const TLS_HANDSHAKE = 0x16;

/** What Node's parser gives up with. */
export interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
  /** Which rule was broken, in the parser's words; nothing of what came. */
  readonly reason?: string;
}

/**
 * What Node's parser gave up on, as a problem with our body instead of Node's empty one.
 * @param isInBody whether it was in the body of a request whose head was good.
 */
export function parserProblem({ code, rawPacket, reason }: ParserError, isInBody: boolean): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem(
        'headers_too_large',
        `The headers are larger than ${HEADERS_BYTES} bytes, or more than ${HEADER_FIELDS}.`,
      );
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
    case 'HPE_PAUSED_H2_UPGRADE':
      return new Problem('malformed_request', 'This is HTTP/2, and this box speaks HTTP/1.1.');
    // Node stops its parser while the answer before is not taken; over TLS the rest of what has been read is lost then.
    case 'HPE_PAUSED':
      return retryLater(
        'overloaded',
        'The answer before this one was not read: this request was lost. Send it again.',
        RETRY_AFTER_S.overloaded,
      );
    default:
      return new Problem('malformed_request', sentenceOf(isInBody, rawPacket, reason));
  }
}

function sentenceOf(isInBody: boolean, rawPacket?: Buffer, reason?: string): string {
  if (isInBody) {
    return (
      'The body is broken: with "Transfer-Encoding: chunked" each chunk begins with its size in hexadecimal digits and ends ' +
      'after as many bytes (RFC 9112, 7.1).'
    );
  }
  if (rawPacket?.[0] === TLS_HANDSHAKE && rawPacket[1] === 3) {
    return 'This is TLS, and this port speaks plain HTTP: use http:// here, or give the box a certificate.';
  }
  return `This is not an HTTP/1.1 request${reason === undefined ? '' : ` (${reason})`}.`;
}
