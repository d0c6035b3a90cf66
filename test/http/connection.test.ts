import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { show } from '../harness/badRequests.ts';
import { type Cleanup, Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { checkProblem } from '../harness/problem.ts';
import { type Answer, newAddress, RawClient, type RequestParts, request } from '../harness/rawClient.ts';

/** What HTTP itself asks: expectations, versions, hosts, several requests on one connection. */

const daemon = await Daemon.start(t, ['--rate-limit', '0']);
const ACCEPTED = '{"accepted":1,"duplicates":0}';
const good = (parts: RequestParts = {}) => request(daemon, { body: JSON.stringify(event()), ...parts });
const ask = (t: Cleanup, bytes: string | Buffer): Promise<Answer> =>
  RawClient.ask(t, daemon, bytes, newAddress());

t.test('100-continue is sent once the head has passed, and before the body', async (t) => {
  const body = JSON.stringify(event());
  const client = await RawClient.connect(t, daemon);
  for (const expect of ['100-continue', '100-Continue']) {
    client.send(request(daemon, { headers: { expect, 'content-length': `${body.length}` } }));
    t.equal((await client.next()).status, 100);
    client.send(body);
    t.equal((await client.next()).status, 202);
  }
});

t.test('a head that is refused gets its answer and no 100', async (t) => {
  const refused: [status: number, code: string, headers: Record<string, string>][] = [
    [401, 'unauthorized', { authorization: 'Bearer wrong' }],
    [415, 'unsupported_media_type', { 'content-type': 'text/csv' }],
    [413, 'body_too_large', { 'content-length': '40000000' }],
  ];
  for (const [status, code, headers] of refused) {
    const client = await RawClient.connect(t, daemon);
    client.send(
      request(daemon, { headers: { expect: '100-continue', 'content-length': '1000', ...headers } }),
    );
    const further = status === 413 ? ['limit_bytes', 'size_bytes'] : [];
    const answer = await client.next();
    checkProblem(t, answer, status, code, code, further);
    t.equal(answer.headers.get('connection'), 'close');
    client.socket.end();
    t.equal(await client.over, null, 'and the end of the connection: its body may or may not follow');
    t.equal(client.unread, '');
  }
});

t.test('another expectation is 417', async (t) => {
  for (const expect of ['200-ok', '101-continue', '', 'foo, 100-continue', '100-continue, foo']) {
    const answer = await ask(t, good({ headers: { expect } }));
    checkProblem(t, answer, 417, 'expectation_failed', show(expect));
  }
});

t.test('no Host, two, or one that names no host is 400', async (t) => {
  for (const host of [
    '',
    ' ',
    'a b',
    'a,b:c',
    'http://box',
    'box:4000:1',
    'box:x',
    '[::1',
    'user@box',
    'b\u00f6x',
  ]) {
    checkProblem(t, await ask(t, good({ headers: { host } })), 400, 'malformed_request', show(host));
  }
  for (const host of ['box', 'box:4000', 'box:', '10.0.7.2:4000', '[fe80::1]:4000', 'court_7.local', 'BOX']) {
    t.equal((await ask(t, good({ headers: { host } }))).body, ACCEPTED, host);
  }
  const none = await ask(t, good({ headers: { host: undefined } }));
  checkProblem(t, none, 400, 'malformed_request', 'none');
  checkProblem(t, await ask(t, good({ more: ['Host: box'] })), 400, 'malformed_request', 'two');
});

t.test('malformed HTTP is 400 with our body, and ends the connection', async (t) => {
  const auth = `Authorization: Bearer ${daemon.token}`;
  const head = `POST /v1/events HTTP/1.1\r\nHost: a\r\n${auth}\r\nContent-Type: application/json\r\n`;
  const malformed: Record<string, string> = {
    nonsense: 'nonsense\r\n\r\n',
    'an unknown method': 'BREW /v1/events HTTP/1.1\r\nHost: a\r\n\r\n',
    'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'HTTP/0.9': 'GET /\r\n\r\n',
    'HTTP/0.9 with headers': `${head.replace(' HTTP/1.1', '')}\r\n`,
    'HTTP/2.0 with a token': `${head.replace('1.1', '2.0')}\r\n`,
    'HTTP/1.2': 'POST /v1/events HTTP/1.2\r\nHost: a\r\n\r\n',
    TLS: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'a space before the colon': `${head}X : 1\r\n\r\n`,
    'a folded header': `${head}X: 1\r\n 2\r\n\r\n`,
    'a NUL in a header': `${head}X: a\0b\r\n\r\n`,
    'a lone CR': `${head}X: a\rb\r\n\r\n`,
    'two lengths': `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}`,
    'a negative length': `${head}Content-Length: -1\r\n\r\n`,
    'a length that is no number': `${head}Content-Length: 1e3\r\n\r\n`,
    'a length and chunks': `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'another transfer coding': `${head}Transfer-Encoding: gzip\r\n\r\n`,
    'two transfer codings': `${head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    'a chunk without a size': `${head}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`,
    'a chunk longer than its size': `${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`,
  };
  for (const [what, bytes] of Object.entries(malformed)) {
    const client = await RawClient.connect(t, daemon, newAddress());
    client.send(Buffer.from(bytes, 'latin1'));
    checkProblem(t, await client.next(), 400, 'malformed_request', what);
    client.socket.end();
    t.equal(await client.over, null, `${what}: the end`);
    t.equal(client.unread, '', `${what}: and nothing else`);
  }
});

t.test('input that is not HTTP is distinguished from HTTP, and named if it is known', async (t) => {
  const chunked = good({ headers: { 'transfer-encoding': 'chunked' }, body: 'zz\r\n' });
  const sentences: [sentence: RegExp, bytes: Buffer][] = [
    [/^The body is malformed: .*chunk/, chunked],
    [/^This is TLS, and this port speaks plain HTTP/, Buffer.from('160301020001000001fc0303', 'hex')],
    [/^This is not an HTTP\/1\.1 request \(Invalid method/, Buffer.from('nonsense\r\n\r\n')],
    [/^This is not an HTTP\/1\.1 request \(Invalid method/, Buffer.from('\x16\x02\r\n\r\n')],
    [/^This is HTTP\/2;/, Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
    [
      /request \(Missing expected CR after header value\)/,
      good({ headers: { authorization: 'Bearer of-a-file\n' } }),
    ],
    [/request \(Duplicate Content-Length\)/, good({ more: ['Content-Length: 1'] })],
  ];
  for (const [sentence, bytes] of sentences) {
    const { error } = checkProblem(t, await ask(t, bytes), 400, 'malformed_request', `${sentence}`);
    t.match(error, sentence);
  }
});

t.test('a head of a hundred fields is taken, and one of more is 431', async (t) => {
  const fields = (count: number) => Array.from({ length: count }, (_, i) => `x-${i}: ${i}`);
  // Four are in every request of these tests.
  t.equal((await ask(t, good({ more: fields(96) }))).body, ACCEPTED);
  for (const count of [97, 98, 900]) {
    const answer = await ask(t, good({ more: fields(count) }));
    checkProblem(t, answer, 431, 'headers_too_large', `${count + 4} fields`);
  }
});

t.test('HTTP/1.0 in chunks ends the connection, whatever it asks for', async (t) => {
  const body = JSON.stringify(event());
  const client = await RawClient.connect(t, daemon);
  const headers = { connection: 'keep-alive', 'transfer-encoding': 'chunked' };
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  client.send(good({ line: 'POST /v1/events HTTP/1.0', headers, body: chunks }));
  t.equal((await client.next()).headers.get('connection'), 'close');
  t.equal(await client.over, null);
});

t.test('headers over 16 KiB are 431', async (t) => {
  const long = 'x'.repeat(17_000);
  for (const parts of [{ headers: { 'x-long': long } }, { line: `POST /${long} HTTP/1.1` }]) {
    checkProblem(t, await ask(t, good(parts)), 431, 'headers_too_large');
  }
});

t.test('CONNECT is answered like any other request', async (t) => {
  const line = 'CONNECT example.com:443 HTTP/1.1';
  const headers = { 'content-length': undefined, 'content-type': undefined };
  const answer = await ask(t, request(daemon, { line, headers }));
  checkProblem(t, answer, 404, 'not_found', 'with a token');
  const without = await ask(t, request(daemon, { line, headers: { ...headers, authorization: undefined } }));
  checkProblem(t, without, 401, 'unauthorized', 'without one');
  t.equal(without.headers.get('www-authenticate'), 'Bearer realm="courtd"');
});

t.test('HTTP/1.0 is served, without Host too, and the connection ends with the answer', async (t) => {
  for (const headers of [{}, { host: undefined }, { expect: '100-continue' }]) {
    const client = await RawClient.connect(t, daemon);
    client.send(good({ line: 'POST /v1/events HTTP/1.0', headers }));
    t.equal((await client.next()).body, ACCEPTED, show(headers));
    t.equal(await client.over, null);
  }
});

t.test('a client that asks for the end of the connection gets it after its answer', async (t) => {
  const client = await RawClient.connect(t, daemon);
  client.send(good({ headers: { connection: 'close' } }));
  const answer = await client.next();
  t.strictSame([answer.body, answer.headers.get('connection')], [ACCEPTED, 'close']);
  t.equal(await client.over, null);
});

t.test(
  'if a request is rejected before its body has come, the body is discarded and the connection is not reset',
  async (t) => {
    const line = 'POST /nothing HTTP/1.1';
    for (const parts of [
      { line, headers: { connection: 'close', 'content-length': '60000' } },
      { line: 'POST /nothing HTTP/1.0', headers: { 'content-length': '60000' } },
    ]) {
      const client = await RawClient.connect(t, daemon);
      client.socket.pause();
      client.send(good({ ...parts, body: '' }));
      for (let i = 0; i < 6; i++) {
        await wait(50);
        await client.sendAll('x'.repeat(10_000));
      }
      client.socket.resume();
      t.equal((await client.next()).status, 404, parts.line);
      t.equal(await client.over, null, 'the end, and no reset');
    }
  },
);

t.test('a client that ends in the middle of a body that was refused gets no second answer', async (t) => {
  const client = await RawClient.connect(t, daemon);
  client.send(good({ headers: { 'content-type': 'text/csv', 'content-length': '1000' }, body: 'x' }));
  const answer = await client.next();
  t.strictSame([answer.status, answer.headers.get('connection')], [415, 'keep-alive']);
  client.socket.end();
  t.equal(await client.over, null);
  t.equal(client.unread, '');
});

t.test('a client that says it will send no more still gets its answer', async (t) => {
  const client = await RawClient.connect(t, daemon);
  client.socket.end(good());
  t.equal((await client.next()).body, ACCEPTED);
});

t.test(
  'a request behind one that has not been answered is not served, and ends the connection',
  async (t) => {
    const behind: Record<string, Buffer> = {
      'another good one': good(),
      'half of one': good().subarray(0, 40),
      'a wrong token': good({ headers: { authorization: 'Bearer wrong' } }),
      'what is no HTTP': Buffer.from('nonsense\r\n\r\n'),
      'a head that is too large': good({ headers: { 'x-long': 'x'.repeat(17_000) } }),
      'a CONNECT': request(daemon, {
        line: 'CONNECT a:1 HTTP/1.1',
        headers: { 'content-length': undefined },
      }),
    };
    for (const [what, bytes] of Object.entries(behind)) {
      const client = await RawClient.connect(t, daemon);
      client.send(Buffer.concat([good(), bytes]));
      const answer = await client.next();
      // Half of a request that never becomes whole is no request.
      const isWhole = what !== 'half of one';
      t.strictSame(
        [answer.body, answer.headers.get('connection')],
        [ACCEPTED, isWhole ? 'close' : 'keep-alive'],
        what,
      );
      client.socket.end();
      await client.over;
      t.match(client.unread, isWhole ? /^$/ : /^HTTP\/1\.1 408 /, what);
    }
  },
);

t.test('a broken request after an answered one gets an answer of its own', async (t) => {
  const broken: [status: number, code: string, bytes: Buffer][] = [
    [400, 'malformed_request', Buffer.from('nonsense\r\n\r\n')],
    [431, 'headers_too_large', good({ headers: { 'x-long': 'x'.repeat(17_000) } })],
    [400, 'malformed_request', good({ headers: { 'transfer-encoding': 'chunked' }, body: 'zz\r\n' })],
    [
      404,
      'not_found',
      request(daemon, { line: 'CONNECT a:1 HTTP/1.1', headers: { 'content-length': undefined } }),
    ],
  ];
  for (const [status, code, bytes] of broken) {
    const client = await RawClient.connect(t, daemon);
    client.send(good());
    t.equal((await client.next()).body, ACCEPTED, code);
    client.send(bytes);
    checkProblem(t, await client.next(), status, code);
    t.equal(await client.over, null, `${code}: the end`);
    t.equal(client.unread, '', 'and nothing after it');
  }
});

t.test('what follows a request that ends the connection is not answered', async (t) => {
  for (const next of [good(), Buffer.from('nonsense\r\n\r\n')]) {
    const client = await RawClient.connect(t, daemon);
    client.send(Buffer.concat([good({ headers: { connection: 'close' } }), next]));
    t.equal((await client.next()).body, ACCEPTED);
    t.equal(await client.over, null);
    t.equal(client.unread, '');
  }
});

t.test('after a rejection with a small body the connection can be used again', async (t) => {
  const client = await RawClient.connect(t, daemon);
  const refused = [
    good({ line: 'PUT /v1/events HTTP/1.1' }),
    good({ headers: { 'content-type': 'text/csv' }, body: 'x'.repeat(60_000) }),
    good({ body: '{' }),
  ];
  for (const bytes of refused) {
    client.send(bytes);
    t.ok((await client.next()).status >= 400);
    client.send(good());
    t.equal((await client.next()).body, ACCEPTED);
  }
});

t.test(
  'a rejection closes the connection if the token was wrong or a large body is on its way',
  async (t) => {
    const refused: Record<number, Buffer> = {
      401: good({ headers: { authorization: undefined } }),
      413: good({ body: ' '.repeat(8 * 1024 * 1024 + 1) }),
      // Less the last byte: all of it might be there before the answer is.
      415: good({ headers: { 'content-type': 'text/csv' }, body: ' '.repeat(100_000) }).subarray(0, -1),
    };
    for (const [status, bytes] of Object.entries(refused)) {
      const client = await RawClient.connect(t, daemon);
      client.send(good());
      t.equal((await client.next()).body, ACCEPTED);
      client.send(bytes);
      const answer = await client.next();
      t.strictSame([answer.status, answer.headers.get('connection')], [Number(status), 'close']);
      t.equal(await client.over, null);
    }
  },
);
