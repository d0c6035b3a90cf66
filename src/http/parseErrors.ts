import type { Socket } from 'node:net';
import {
  HEADER_FIELDS,
  HEADERS_BYTES,
  HEADERS_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
  RETRY_AFTER_S,
} from '../base/limits.ts';
import { Problem, retryLater } from '../protocol/errors.ts';
import type { ParseFailure } from './connection.ts';

/** The content type of the first TLS record (RFC 8446, 5.1). */
const TLS_HANDSHAKE = 0x16;

/** What begins HTTP/2 (RFC 9113, 3.4). */
const HTTP2_PREFACE = 'PRI * HTTP/2';

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
    const sentence = `The headers are larger than ${HEADERS_BYTES} bytes, or there are more than ${HEADER_FIELDS} of them.`;
    return new Problem('headers_too_large', sentence);
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const [headers, whole] = [HEADERS_TIMEOUT_MS / 1000, REQUEST_TIMEOUT_MS / 1000];
    const sentence = `The request took too long: its headers must arrive within ${headers} s, all of it within ${whole} s.`;
    return new Problem('request_timeout', sentence);
  }
  if (socket.readableEnded) {
    const sentence = 'The connection ended before the request was complete: send it again.';
    return new Problem('request_timeout', sentence);
  }
  // Node pauses its parser while a response is not read. Over TLS, the rest of what it has read is lost then.
  if (socket.writableNeedDrain) {
    const sentence = 'The previous response was not read, and this request was lost. Send it again.';
    return retryLater('overloaded', sentence, RETRY_AFTER_S.overloaded);
  }
  return new Problem('malformed_request', malformedSentence(isInBody, error));
}

function malformedSentence(isInBody: boolean, { rawPacket, message }: ParseFailure): string {
  if (isInBody) {
    return (
      'The body is malformed: with "Transfer-Encoding: chunked", each chunk begins with its size in hexadecimal digits and holds ' +
      'exactly as many bytes (RFC 9112, 7.1).'
    );
  }
  if (rawPacket?.[0] === TLS_HANDSHAKE && rawPacket[1] === 3) {
    return 'This is TLS, and this port speaks plain HTTP: use http:// here, or give the box a certificate.';
  }
  if (rawPacket?.toString('latin1', 0, HTTP2_PREFACE.length) === HTTP2_PREFACE)
    return 'This is HTTP/2; this box speaks HTTP/1.1.';
  return `This is not an HTTP/1.1 request (${message.replace(/^Parse Error: /, '')}).`;
}
