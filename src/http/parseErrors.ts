import type { Socket } from 'node:net';
import * as limits from '../base/limits.ts';
import { Problem, retryLater } from '../protocol/errors.ts';

/** An error of Node's `clientError`. */
export interface ParseFailure extends NodeJS.ErrnoException {
  /** What was parsed. */
  readonly rawPacket?: Buffer;
}

/** A client of the wrong protocol begins with this: the first TLS record (RFC 8446, 5.1), and HTTP/2 (RFC 9113, 3.4). */
const OTHER_PROTOCOLS = { tls: '\x16\x03', http2: 'PRI * HTTP/2' } as const;

/**
 * @param socket on which it failed.
 * @param isInBody whether the parser failed in the body of a request whose head was valid.
 * @returns the problem to answer with, in place of Node's response without a body: 400 malformed_request, 408 request_timeout,
 * 431 headers_too_large or 503 overloaded.
 */
export function parserProblem(
  error: ParseFailure,
  socket: Pick<Socket, 'readableEnded' | 'writableNeedDrain'>,
  isInBody: boolean,
): Problem {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    const sentence = `The headers are larger than ${limits.HEADERS_BYTES} bytes, or there are more than ${limits.HEADER_FIELDS} of them.`;
    return new Problem('headers_too_large', sentence);
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const [headers, whole] = [limits.HEADERS_TIMEOUT_MS / 1000, limits.REQUEST_TIMEOUT_MS / 1000];
    const sentence = `The request took too long: its headers must arrive within ${headers} s, all of it within ${whole} s.`;
    return new Problem('request_timeout', sentence);
  }
  if (socket.readableEnded) {
    const sentence = 'The connection ended before the request was complete: send it again.';
    return new Problem('request_timeout', sentence);
  }
  // Node pauses its parser while a response is not read. Over TLS, the rest that it has read is then lost.
  if (socket.writableNeedDrain) {
    const sentence = 'The previous response was not read, and this request was lost. Send it again.';
    return retryLater('overloaded', sentence, limits.RETRY_AFTER_S.overloaded);
  }
  return new Problem('malformed_request', malformedSentence(isInBody, error));
}

function malformedSentence(isInBody: boolean, { rawPacket, message }: ParseFailure): string {
  if (isInBody)
    return 'The body is malformed: each chunk begins with its size in hexadecimal digits (RFC 9112, 7.1).';
  const start = rawPacket?.toString('latin1', 0, 20) ?? '';
  if (start.startsWith(OTHER_PROTOCOLS.tls))
    return 'This is TLS, and this port speaks plain HTTP: use http:// here, or give the box a certificate.';
  if (start.startsWith(OTHER_PROTOCOLS.http2)) return 'This is HTTP/2; this box speaks HTTP/1.1.';
  return `This is not an HTTP/1.1 request (${message.replace(/^Parse Error: /, '')}).`;
}
