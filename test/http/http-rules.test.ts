import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { show } from '../harness/badRequests.ts';
import { type Cleanup, Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { type Asserts, checkProblem } from '../harness/problem.ts';
import {
  type Answer,
  answerOf,
  newAddress,
  RawClient,
  type RequestParts,
  request,
} from '../harness/rawClient.ts';
import { scheme } from '../harness/transport.ts';

/** Every row of the table in section 2 of the design, in the order of its checks. */

const LIMIT = 4096;
const daemon = await Daemon.start(t, ['--rate-limit', '0', '--body-limit', '4KiB', '--log-level', 'debug']);
const url = `${scheme()}://127.0.0.1:${daemon.port}`;
const authorization = `Bearer ${daemon.token}`;
const body = () => JSON.stringify(event());

const ask = (t: Cleanup, parts: RequestParts): Promise<Answer> =>
  RawClient.ask(t, daemon, request(daemon, parts), newAddress());
/** Asks with a body of one good event. */
const askGood = (t: Cleanup, parts: RequestParts) => ask(t, { body: body(), ...parts });

t.test(
  'a client whose connection is reset in the middle of its request is logged as that, and not as a refusal',
  async (t) => {
    const client = await RawClient.connect(t, daemon);
    client.send(request(daemon, { headers: { 'content-length': '100', expect: '100-continue' }, body: '[' }));
    await once(client.socket, 'data');
    client.socket.resetAndDestroy();
    t.equal((await daemon.logged('the client disconnected')).level, 'debug');
    t.notOk(daemon.log.some(({ msg }) => /^refused|bug/.test(msg)));
  },
);

t.test('of several faults the answer has the first in the order of the guide', async (t) => {
  // Each row is a fault, and what it is answered while all those below it are there too.
  const ladder: [status: number, code: string, faulty: Partial<Record<string, string | undefined>>][] = [
    [400, 'malformed_request', { host: undefined }],
    [401, 'unauthorized', { authorization: 'Bearer wrong' }],
    [404, 'not_found', { target: '/v1/event' }],
    [405, 'method_not_allowed', { method: 'PUT' }],
    [415, 'unsupported_media_type', { 'content-type': 'text/plain' }],
    [415, 'unsupported_encoding', { 'content-encoding': 'br' }],
    [413, 'body_too_large', { 'content-length': '1000000000' }],
  ];
  ladder.forEach(([status, code], i) => {
    t.test(`${status} ${code}`, async (t) => {
      const {
        target = '/v1/events',
        method = 'POST',
        ...headers
      } = Object.assign(
        { expect: '100-continue', 'content-length': '3' },
        ...ladder.slice(i).map(([, , faulty]) => faulty),
      );
      const line = `${method} ${target} HTTP/1.1`;
      const answer = await ask(t, { line, headers });
      checkProblem(t, answer, status, code, code, status === 413 ? ['limit_bytes', 'size_bytes'] : []);
      t.equal(
        answer.headers.get('connection'),
        'close',
        'who was not told to continue may not send the body',
      );
    });
  });
});

t.test('a missing, malformed or wrong token is 401, on any path and with any method', async (t) => {
  const missing = 'Bearer realm="courtd"';
  const wrong = `${missing}, error="invalid_token"`;
  const forms = [
    '',
    'Bearer',
    'Bearer ',
    'Basic dTpw',
    daemon.token,
    `Token ${daemon.token}`,
    'Bearer a b',
    'Bearer \u00e9',
  ];
  const near = [
    daemon.token.slice(1),
    `${daemon.token}x`,
    `"${daemon.token}"`,
    daemon.token.toLowerCase(),
    `${daemon.token}=`,
  ];
  for (const line of [
    'POST /v1/events HTTP/1.1',
    'GET / HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'DELETE /v1/events HTTP/1.1',
  ]) {
    const none = await askGood(t, { line, headers: { authorization: undefined } });
    checkProblem(t, none, 401, 'unauthorized', `${line} without`);
    t.equal(none.headers.get('www-authenticate'), missing);
    for (const form of [...forms, ...near.map((token) => `Bearer ${token}`)]) {
      const answer = await askGood(t, { line, headers: { authorization: form } });
      checkProblem(t, answer, 401, 'unauthorized', `${line} with ${show(form)}`);
      t.equal(answer.headers.get('www-authenticate'), wrong, show(form));
      t.notOk(answer.body.includes(daemon.token.slice(1, -1)), 'the token is not told');
    }
  }
});

t.test('two Authorization headers are a 401, whichever is right', async (t) => {
  for (const other of ['Bearer wrong', authorization]) {
    const after = await askGood(t, { more: [`Authorization: ${other}`] });
    checkProblem(t, after, 401, 'unauthorized', 'the right one first');
    const before = await askGood(t, {
      headers: { authorization: other },
      more: [`AUTHORIZATION: ${authorization}`],
    });
    checkProblem(t, before, 401, 'unauthorized', 'the right one last');
    t.match(before.headers.get('www-authenticate'), 'error="invalid_token"');
  }
});

t.test('any other path is 404, with any method', async (t) => {
  const others = [
    '/',
    '/v1/events/',
    '/v1//events',
    '//v1/events',
    '/V1/events',
    '/v1/events%20',
    '/v1/%65vents',
    '/v2/events',
  ];
  for (const target of [...others, '/v1/events/../events', '/health?/v1/events', 'http://box/', '*']) {
    for (const method of target === '*' ? ['OPTIONS'] : ['POST', 'GET']) {
      checkProblem(
        t,
        await askGood(t, { line: `${method} ${target} HTTP/1.1` }),
        404,
        'not_found',
        `${method} ${target}`,
      );
    }
  }
});

t.test('any other method is 405 with Allow', async (t) => {
  for (const method of ['GET', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'QUERY']) {
    const answer = await askGood(t, { line: `${method} /v1/events?a=b HTTP/1.1` });
    checkProblem(t, answer, 405, 'method_not_allowed', method);
    t.equal(answer.headers.get('allow'), 'POST', method);
  }
  const head = await fetch(`${url}/v1/events`, { method: 'HEAD', headers: { authorization } });
  t.equal(head.status, 405);
  t.equal(head.headers.get('allow'), 'POST');
  t.equal(await head.text(), '', 'HEAD has no body');
});

t.test('a HEAD is answered before its body has come, or with a request behind it', async (t) => {
  const line = 'HEAD /v1/events HTTP/1.1';
  const whole = request(daemon, { line });
  const unread = request(daemon, { line, headers: { 'content-length': '1000000' } });
  for (const [what, bytes] of Object.entries({ unread, pipelined: Buffer.concat([whole, whole]) })) {
    const client = await RawClient.connect(t, daemon, newAddress());
    client.send(bytes);
    client.socket.end();
    await client.over;
    t.match(client.unread, /^HTTP\/1\.1 405 .*\r\nconnection: close\r\n.*\r\n\r\n$/is, what);
    t.equal(client.unread.split('HTTP/1.1').length, 2, `${what}: once`);
  }
});

t.test('another media type, or none, is 415 with Accept', async (t) => {
  const types = [
    undefined,
    '',
    'text/plain',
    'application/jsonp',
    'application/json-seq',
    'application/problem+json',
    'json',
  ];
  const spaces = ' '.repeat(15_000);
  const charsets = [
    'latin1',
    'utf8',
    'utf-8; charset=utf-8',
    'utf-16',
    'utf-7',
    '"utf-8',
    'utf-8"',
    '"',
    `${spaces}"`,
    '',
  ].map((charset) => `application/json; charset=${charset}`);
  for (const type of [...types, ...charsets, 'application/json, text/plain', 'multipart/form-data']) {
    const answer = await askGood(t, { headers: { 'content-type': type } });
    checkProblem(t, answer, 415, 'unsupported_media_type', show(type));
    t.equal(answer.headers.get('accept'), 'application/json', show(type));
  }
});

t.test('the media type that came is quoted, cut, and without what a terminal would obey', async (t) => {
  const told = async (type: string | undefined) =>
    JSON.parse((await askGood(t, { headers: { 'content-type': type } })).body).error as string;
  t.match(await told('text/csv'), '"text/csv"');
  t.match(await told(`text/${'x'.repeat(55)}`), `"text/${'x'.repeat(55)}"`);
  const long = await told(`text/${'x'.repeat(500)}`);
  t.ok(long.includes(`"text/${'x'.repeat(55)}..."`) && long.length < 200, long);
  t.match(await told('a/\u009b31m'), '"a/?31m"');
});

t.test('a gzip body without its header is rejected with the header to add', async (t) => {
  const answer = await ask(t, { body: gzipSync(body()) });
  const { error } = checkProblem(t, answer, 400, 'invalid_json');
  t.match(error, 'Content-Encoding: gzip');
});

t.test('a 202 counts the duplicates that differ from what is stored', async (t) => {
  const [a, b, c] = [event(), event(), event()];
  const conflicts = async (sent: unknown) =>
    (await answerOf(daemon.post(sent))).headers.get('courtd-conflicts');
  t.equal(await conflicts([a, b]), null);
  t.equal(await conflicts([a, b, c]), null, 'the same again is none');
  const other = { payload: { x_ft: -1 } };
  t.equal(await conflicts([{ ...a, ...other }, { ...b, ...other }, c, event()]), '2');
  t.equal((await answerOf(daemon.post(event()))).headers.get('content-type'), 'application/json');
});

t.test('another content encoding is 415 with Accept-Encoding', async (t) => {
  for (const coding of ['br', 'deflate', 'zstd', 'gzip, gzip', 'gzip, identity', 'gzip;q=1', '*']) {
    const answer = await askGood(t, { headers: { 'content-encoding': coding } });
    checkProblem(t, answer, 415, 'unsupported_encoding', coding);
    t.equal(answer.headers.get('accept-encoding'), 'gzip', coding);
  }
});

const tooLarge = (t: Asserts, answer: Answer, what: string, size?: number) => {
  const further = size === undefined ? ['limit_bytes'] : ['limit_bytes', 'size_bytes'];
  const { limit_bytes, size_bytes } = checkProblem(t, answer, 413, 'body_too_large', what, further);
  t.strictSame([limit_bytes, size_bytes], [LIMIT, size], what);
};

t.test('a body over the limit is 413 with the limit, and one of the limit is not', async (t) => {
  const full = body().padEnd(LIMIT, ' ');
  const chunked = (size: number) => `${size.toString(16)}\r\n${full.padEnd(size, ' ')}\r\n0\r\n\r\n`;
  const headers = { 'transfer-encoding': 'chunked' };
  t.equal((await ask(t, { body: full })).status, 202);
  tooLarge(t, await ask(t, { body: `${full} ` }), 'declared', LIMIT + 1);
  t.equal((await ask(t, { headers, body: chunked(LIMIT) })).body, '{"accepted":0,"duplicates":1}');
  tooLarge(t, await ask(t, { headers, body: chunked(LIMIT + 1) }), 'chunked');
  tooLarge(
    t,
    await ask(t, { headers: { 'content-length': '9'.repeat(15) } }),
    'a petabyte',
    999_999_999_999_999,
  );
});

t.test('gzip is bounded on both sides', async (t) => {
  const headers = { 'content-encoding': 'gzip' };
  const full = body().padEnd(LIMIT, ' ');
  t.equal((await ask(t, { headers, body: gzipSync(full) })).status, 202);
  tooLarge(t, await ask(t, { headers, body: gzipSync(`${full} `) }), 'one byte over');
  const bomb = gzipSync(Buffer.alloc(3_000_000, ' '));
  t.ok(bomb.length < LIMIT, 'the bomb is small');
  tooLarge(t, await ask(t, { headers, body: bomb }), 'a bomb');
  bomb.writeUInt32LE(1, bomb.length - 4);
  tooLarge(t, await ask(t, { headers, body: bomb }), 'a bomb that says it is one byte');
  const small = gzipSync(body());
  small.writeUInt32LE(3_000_000, small.length - 4);
  const answer = await ask(t, { headers, body: small });
  checkProblem(t, answer, 400, 'invalid_encoding', 'a small body that says it is a bomb');
});

t.test('gzip that is garbage, cut off or followed by something else is 400', async (t) => {
  const whole = gzipSync(body());
  const bodies = [
    Buffer.from(body()),
    Buffer.alloc(0),
    whole.subarray(0, 10),
    whole.subarray(0, -8),
    whole.subarray(0, -1),
  ];
  const damaged = Buffer.from(whole);
  damaged[whole.length - 6]! ^= 1;
  // A zero byte behind a member ends it for Node, which says nothing of what follows.
  const behind = ['\0', 'x', '\0x', Buffer.concat([Buffer.of(0), gzipSync(body())])];
  const trailed = behind.map((bytes) => Buffer.concat([whole, Buffer.from(bytes)]));
  for (const sent of [...bodies, damaged, ...trailed]) {
    const answer = await answerOf(daemon.post(sent, { 'content-encoding': 'gzip' }));
    checkProblem(t, answer, 400, 'invalid_encoding', `${sent.length} of ${whole.length} bytes`);
  }
  const notJson = await answerOf(daemon.post(gzipSync('{'), { 'content-encoding': 'gzip' }));
  checkProblem(t, notJson, 400, 'invalid_json', 'good gzip of bad JSON');
});

t.test('an answer does not name the software, and has the request id of the log', async (t) => {
  const answers = [await ask(t, {}), await ask(t, { body: body() })];
  for (const { headers } of answers)
    t.strictSame([headers.get('server'), headers.get('x-powered-by')], [null, null]);
  const [a, b] = [await ask(t, {}), await ask(t, {})].map((answer) => JSON.parse(answer.body).request_id);
  t.match([a, b], [/^[0-9a-f]{8}-[0-9a-f]{4}$/, /^[0-9a-f]{8}-[0-9a-f]{4}$/]);
  t.not(a.slice(0, 8), b.slice(0, 8), 'and tells nobody how many there were');
  t.equal(await daemon.stop(), 0);
  for (const id of [a, b])
    t.match(
      daemon.log.filter((line) => line.request_id === id),
      [{ status: 400, code: 'invalid_json' }],
    );
});
