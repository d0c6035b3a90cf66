import type { IncomingMessage } from 'node:http';
import { HEADER_FIELDS } from '../base/limits.ts';
import { Problem } from '../protocol/errors.ts';
import { authenticate, countOf, type Tokens } from './bearerToken.ts';

/** The only endpoint (spec 1). */
export const PATH = '/v1/events';
/** A name, an IPv4 address or an IPv6 address in brackets, and an optional port (RFC 9110, 7.2; RFC 3986, 3.2.2). */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::\d*)?$/i;
const JSON_TYPE = /^application\/json[ \t]*(?:;(.*))?$/i;

export type BodyEncoding = 'identity' | 'gzip';

/** What the checks of a request's head depend on. */
export interface PreconditionContext {
  readonly tokens: Tokens;
  readonly bodyLimitBytes: number;
}

/** Whose request it is: a command of this box (`isLocal`) needs no token. */
type Asking = { readonly client: string; readonly isLocal: boolean };

/**
 * Checks a request's head, before its body is read: HTTP, token, rate, path, method, media type, encoding, declared length. The
 * order is part of the contract (src/http/README.md, "Errors"): without a valid token, nothing but 401 and what is
 * wrong with the HTTP itself (400, 417, 431) is reported.
 * @param onAuthenticated called once the token is known to be valid; it may throw 429.
 * @returns how the body is encoded.
 * @throws {Problem} for the first check that fails: 400, 401, 404, 405, 413, 415, 417, 429 or 431.
 */
export function checkPreconditions(
  req: IncomingMessage,
  { client, isLocal }: Asking,
  { tokens, bodyLimitBytes }: PreconditionContext,
  onAuthenticated: () => void,
): BodyEncoding {
  checkHttp(req);
  if (!isLocal) {
    authenticate(req, tokens, client);
    onAuthenticated();
  }
  checkPath(req.url ?? '');
  checkMethod(req.method ?? '');
  checkMediaType(req.headers['content-type']);
  const encoding = encodingOf(req.headers['content-encoding']);
  const sizeBytes = Number(req.headers['content-length'] ?? 0);
  if (sizeBytes > bodyLimitBytes) throw bodyTooLarge(bodyLimitBytes, sizeBytes);
  return encoding;
}

/** Checks of RFC 9112 (sections 3.2 and 6.1) that Node does not make, or answers without a body. */
function checkHttp(req: IncomingMessage): void {
  if (req.httpVersion !== '1.1' && req.httpVersion !== '1.0') {
    throw new Problem('malformed_request', 'This is not an HTTP/1.1 request.');
  }
  // Node's own limit is one field higher (server.ts): it silently drops the rest.
  if (req.rawHeaders.length > 2 * HEADER_FIELDS) {
    throw new Problem('headers_too_large', `There are more than ${HEADER_FIELDS} header fields.`);
  }
  const hosts = countOf(req, 'host');
  if (hosts > 1 || (hosts === 0 && req.httpVersion === '1.1')) {
    throw new Problem('malformed_request', 'The request needs exactly one Host header.');
  }
  if (hosts === 1 && !HOST.test(req.headers.host ?? '')) {
    throw new Problem('malformed_request', 'The Host header must be the name or the address of this box.');
  }
  const coding = req.headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw new Problem('malformed_request', 'The only Transfer-Encoding supported here is chunked.');
  }
  // Node accepts any list that contains 100-continue; in HTTP/1.0 Expect has no meaning (RFC 9110, 10.1.1).
  const { expect } = req.headers;
  if (expect !== undefined && req.httpVersion === '1.1' && expect.toLowerCase() !== '100-continue') {
    const sentence = 'The only expectation supported here is "Expect: 100-continue".';
    throw new Problem('expectation_failed', sentence);
  }
}

/** The query is ignored. A proxy may send the absolute form (RFC 9112, section 3.2.2). */
function checkPath(url: string): void {
  if (url === PATH) return;
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  if (path !== PATH) throw new Problem('not_found', `There is nothing here: send events to POST ${PATH}.`);
}

function checkMethod(method: string): void {
  if (method === 'POST') return;
  throw new Problem('method_not_allowed', `Use POST: ${PATH} only accepts events.`, {}, { Allow: 'POST' });
}

function checkMediaType(header: string | undefined): void {
  if (header === 'application/json') return;
  const parameters = JSON_TYPE.exec(header ?? '');
  const charsets = charsetsOf(parameters?.[1] ?? '');
  if (parameters !== null && charsets.length <= 1 && charsets.every((charset) => charset === 'utf-8')) return;
  const sentence = 'Send the events with "Content-Type: application/json", in UTF-8.';
  throw new Problem('unsupported_media_type', sentence, {}, { Accept: 'application/json' });
}

/** Splits instead of matching: a pattern that allows spaces on every side takes cubic time on a long run of them. */
function charsetsOf(parameters: string): string[] {
  return parameters.split(';').flatMap((parameter) => {
    const [name = '', ...value] = parameter.split('=');
    if (name.trim().toLowerCase() !== 'charset') return [];
    const charset = value.join('=').trim().toLowerCase();
    return [charset.startsWith('"') && charset.endsWith('"') ? charset.slice(1, -1) : charset];
  });
}

/** `x-gzip` is gzip (RFC 9110, 8.4.1.3), and an empty field is none. */
function encodingOf(header: string | undefined): BodyEncoding {
  const encoding = header?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return 'identity';
  if (encoding === 'gzip' || encoding === 'x-gzip') return 'gzip';
  const sentence =
    'The Content-Encoding is not supported. Send the body uncompressed, or with "Content-Encoding: gzip".';
  throw new Problem('unsupported_encoding', sentence, {}, { 'Accept-Encoding': 'gzip' });
}

/**
 * @param sizeBytes the size of the body, if it is known.
 * @returns 413 body_too_large, with `limit_bytes` and, if known, `size_bytes`.
 */
export function bodyTooLarge(limitBytes: number, sizeBytes?: number): Problem {
  const size = sizeBytes === undefined ? 'larger than' : `${sizeBytes} bytes long; the limit is`;
  const members = sizeBytes === undefined ? {} : { size_bytes: sizeBytes };
  const sentence = `The body is ${size} ${limitBytes} bytes: send fewer or smaller events in one request.`;
  return new Problem('body_too_large', sentence, { limit_bytes: limitBytes, ...members });
}
