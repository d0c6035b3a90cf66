import type { ProblemCode } from '../../src/protocol/errors.ts';
import { type RequestParts, request } from './rawClient.ts';

/**
 * The table of section 3 of the contract, as far as a row is one request whose body plays no part: over plain HTTP and TLS
 * (http/wire.test.ts), against the OpenAPI document (http/openapi.test.ts), and as seeds of the fuzzer (fuzz/case.ts).
 */

/** Requests, and what they are answered: status, code, and headers. A request that never becomes one is bytes. */
export interface WireRow {
  readonly status: number;
  readonly code: ProblemCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly sent: readonly (RequestParts | Buffer)[];
}

const post = (target: string) => `POST ${target} HTTP/1.1`;
const named = (name: string, ...values: (string | undefined)[]) =>
  values.map((value): RequestParts => ({ headers: { [name]: value } }));
const fields = (count: number) => Array.from({ length: count }, (_, i) => `x-${i}: ${i}`);
const JSON_TYPE = 'application/json';

/** @returns heads that HTTP allows, also where few clients send them: a good body with them is stored. */
export function takenHeads(token: string): RequestParts[] {
  const types = [`${JSON_TYPE}; charset=UTF-8`, `${JSON_TYPE};charset="utf-8"`, JSON_TYPE.toUpperCase()];
  const more = [`${JSON_TYPE} ; charset=utf-8`, `${JSON_TYPE}; a=b; charset=Utf-8`, `${JSON_TYPE};`];
  const targets = ['/v1/events?', '/v1/events?a=/b', 'http://box/v1/events', 'HTTPS://box:4000/v1/events?x'];
  return [
    {},
    ...named('content-type', ...types, ...more),
    ...named('authorization', `bearer ${token}`, `BEARER ${token}`, `bEaReR  ${token}`),
    ...named('content-encoding', 'identity', 'Identity', ''),
    ...named('host', 'box', 'box:4000', 'box:', '10.0.7.2:4000', '[fe80::1]:4000', 'court_7.local', 'BOX'),
    ...named('accept', 'text/html'),
    ...named('cookie', '\u00e9'),
    ...named('x-long', 'x'.repeat(8_000)),
    ...named('expect', '100-continue', '100-CONTINUE'),
    ...named('connection', 'close', 'keep-alive'),
    { headers: { upgrade: 'websocket', connection: 'upgrade' } },
    { headers: { upgrade: 'h2c', connection: 'Upgrade, HTTP2-Settings', 'http2-settings': 'AAMAAABkAAQ' } },
    ...targets.map((target) => ({ line: post(target) })),
    // Four are in every request.
    { more: fields(96) },
    ...[{}, { host: undefined }, { expect: '100-continue' }, { connection: 'keep-alive' }].map((headers) => ({
      line: 'POST /v1/events HTTP/1.0',
      headers,
    })),
  ];
}

function malformed(token: string): Buffer[] {
  const head = request({ port: 4000, token })
    .toString('latin1')
    .replace(/content-length.*$/s, '');
  const lines = [
    'nonsense\r\n\r\n',
    'BREW /v1/events HTTP/1.1\r\nHost: a\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'GET /\r\n\r\n',
    'POST /v1/events HTTP/1.2\r\nHost: a\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    `${head.replace(' HTTP/1.1', '')}\r\n`,
    `${head.replace('1.1', '2.0')}\r\n`,
  ];
  const wrong = ['X : 1', 'X: 1\r\n 2', 'X: a\0b', 'X: a\rb'];
  const lengths = ['Content-Length: 1\r\nContent-Length: 2', 'Content-Length: -1', 'Content-Length: 1e3'];
  const codings = ['gzip', 'gzip, chunked'].map((coding) => `Transfer-Encoding: ${coding}`);
  const both = 'Content-Length: 2\r\nTransfer-Encoding: chunked';
  const chunks = ['xyz\r\n', '1\r\n{}\r\n0\r\n\r\n'];
  return [
    ...lines,
    ...[...wrong, ...lengths, ...codings, both].map((line) => `${head}${line}\r\n\r\n0\r\n\r\n`),
    ...chunks.map((chunk) => `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}`),
  ].map((text) => Buffer.from(text, 'latin1'));
}

const CONNECT = 'CONNECT example.com:443 HTTP/1.1';
const ANY_REQUEST = [
  post('/v1/events'),
  'GET / HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'DELETE /v1/events HTTP/1.1',
  CONNECT,
];
const HOSTS = ['', ' ', 'a b', 'a,b:c', 'http://box', 'box:4000:1', 'box:x', '[::1', 'user@box', 'b\u00f6x'];
const TYPES = ['', 'text/plain', 'application/jsonp', 'application/json-seq', 'json', 'multipart/form-data'];
const CHARSETS = ['latin1', 'utf8', 'utf-8; charset=utf-8', 'utf-16', '"utf-8', 'utf-8"', '"', ''];
const PATHS = ['/', '/v1/events/', '/v1//events', '//v1/events', '/V1/events', '/v1/events%20', '/v2/events'];
const CODINGS = ['br', 'deflate', 'zstd', 'gzip, gzip', 'gzip, identity', 'gzip;q=1', '*'];
const METHODS = ['GET', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'QUERY'];
const LONG = 'x'.repeat(17_000);

/** @returns heads that are rejected, whatever their body is. */
export function rejectedHeads(token: string): WireRow[] {
  const authorization = `Bearer ${token}`;
  const wrong = [
    token.slice(1),
    `${token}x`,
    `"${token}"`,
    token.toLowerCase(),
    `${token}=`,
    'a b',
    '\u00e9',
  ];
  const credentials = [
    ...['', 'Bearer', 'Bearer ', 'Basic dTpw', token, `Token ${token}`],
    ...wrong.map((text) => `Bearer ${text}`),
  ];
  const realm = 'Bearer realm="courtd"';
  const unauthorized = { 'retry-after': '30', connection: 'close' };
  const row = (status: number, code: ProblemCode, headers: WireRow['headers'], sent: WireRow['sent']) => ({
    ...{ status, code, headers, sent },
  });
  return [
    row(400, 'malformed_request', { connection: 'close' }, malformed(token)),
    row(400, 'malformed_request', {}, [...named('host', undefined, ...HOSTS), { more: ['Host: box'] }]),
    row(
      401,
      'unauthorized',
      { 'www-authenticate': realm, ...unauthorized },
      ANY_REQUEST.map((line) => ({ line, headers: { authorization: undefined } })),
    ),
    row(401, 'unauthorized', { 'www-authenticate': `${realm}, error="invalid_token"`, ...unauthorized }, [
      ...ANY_REQUEST.flatMap((line) =>
        credentials.map((value) => ({ line, headers: { authorization: value } })),
      ),
      ...['Bearer wrong', authorization].flatMap((other) => [
        { more: [`Authorization: ${other}`] },
        { headers: { authorization: other }, more: [`AUTHORIZATION: ${authorization}`] },
      ]),
    ]),
    row(404, 'not_found', {}, [
      ...PATHS.flatMap((path) => [{ line: post(path) }, { line: `GET ${path} HTTP/1.1` }]),
      ...['/v1/%65vents', '/v1/events/../events', '/health?/v1/events', 'http://box/'].map((path) => ({
        line: post(path),
      })),
      ...['OPTIONS * HTTP/1.1', CONNECT].map((line) => ({ line })),
    ]),
    row(
      405,
      'method_not_allowed',
      { allow: 'POST' },
      METHODS.map((method) => ({ line: `${method} /v1/events?a=b HTTP/1.1` })),
    ),
    row(415, 'unsupported_media_type', { accept: JSON_TYPE }, [
      ...named('content-type', undefined, ...TYPES, `${JSON_TYPE}, text/plain`),
      ...named(
        'content-type',
        ...[...CHARSETS, `${' '.repeat(15_000)}"`].map((charset) => `${JSON_TYPE}; charset=${charset}`),
      ),
    ]),
    row(415, 'unsupported_encoding', { 'accept-encoding': 'gzip' }, named('content-encoding', ...CODINGS)),
    row(417, 'expectation_failed', {}, named('expect', '200-ok', '101-continue', '', 'foo, 100-continue')),
    row(431, 'headers_too_large', {}, [
      ...named('x-long', LONG),
      { line: post(`/${LONG}`) },
      ...[97, 98, 900].map((count) => ({ more: fields(count) })),
    ]),
  ];
}
