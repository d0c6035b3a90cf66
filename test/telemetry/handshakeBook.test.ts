import t from 'tap';
import { HandshakeBook } from '../../src/telemetry/handshakeBook.ts';

const HTTP = 'ERR_SSL_HTTP_REQUEST';
const HOUR_MS = 3_600_000;

t.test('the reasons that OpenSSL gives are told in five', (t) => {
  const book = new HandshakeBook();
  for (const [code, reason] of [
    [HTTP, 'plain_http'],
    ['ERR_SSL_HTTPS_PROXY_REQUEST', 'plain_http'],
    ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'old_tls'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'old_tls'],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'certificate'],
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', 'certificate'],
    ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'certificate'],
    ['ERR_SSL_NO_SHARED_CIPHER', 'other'],
    ['ERR_TLS_HANDSHAKE_TIMEOUT', 'other'],
    [undefined, 'other'],
  ] as const) {
    book.failed('10.0.7.21', code, 0);
    t.match(book.report(0), [{ reason }], String(code));
  }
  book.failed('10.0.7.22', undefined, 0);
  t.match(book.report(0), [
    { reason: 'other', times: 10 },
    { reason: 'disconnected', times: 1 },
  ]);
  t.strictSame(book.byReason, { plain_http: 2, old_tls: 2, certificate: 3, disconnected: 2, other: 2 });
  t.end();
});

t.test('an address is told until one of its handshakes succeeds, or an hour has passed', (t) => {
  const book = new HandshakeBook();
  for (const [at, client] of [0, 30_000, 59_000].flatMap((at) => [[at, 'a'] as const, [at, 'b'] as const])) {
    book.failed(client, HTTP, at);
  }
  const told = (client: string, last_minute: number, ago_s: number) => ({
    client,
    reason: 'plain_http',
    times: 3,
    last_minute,
    ago_s,
  });
  t.strictSame(book.report(59_000), [told('a', 3, 0), told('b', 3, 0)]);
  book.succeeded('a');
  t.strictSame(book.report(119_000), [told('b', 0, 60)]);
  t.equal(book.report(59_000 + HOUR_MS).length, 1);
  t.strictSame(book.report(59_001 + HOUR_MS), []);
  t.equal(book.byReason.plain_http, 6, 'a counter only grows');
  t.end();
});

t.test('however many strangers there are, so many are remembered, and who goes on failing is', (t) => {
  const book = new HandshakeBook();
  for (let i = 0; i < 10_000; i++) {
    if (i % 100 === 0) book.failed('camera', HTTP, i);
    book.failed(`stranger-${i}`, undefined, i);
  }
  const told = book.report(10_000);
  t.equal(told.length, 200);
  t.match(
    told.find(({ client }) => client === 'camera'),
    { times: 100 },
  );
  t.end();
});
