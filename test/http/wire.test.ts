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
import { rejectedHeads, takenHeads } from '../harness/wireTable.ts';

/** The table of section 3 of the contract (harness/wireTable.ts), and what belongs to one request on one connection. */

const LIMIT = 4096;
const daemon = await Daemon.start(t, ['--rate-limit', '0', '--body-limit', '4KiB', '--log-level', 'debug']);
const body = () => JSON.stringify(event());
const good = (parts: RequestParts = {}) => request(daemon, { body: body(), ...parts });
/** @returns the only answer on a connection of its own, which then ends without a reset. */
async function ask(t: Cleanup & Asserts, bytes: Buffer, what: string): Promise<Answer> {
  const client = await RawClient.connect(t, daemon, newAddress());
  client.send(bytes);
  const first = await client.next();
  const answer = first.status === 100 ? await client.next() : first;
  client.socket.end();
  t.strictSame([await client.over, client.unread], [null, ''], `${what}: the end`);
  return answer;
}

t.test('valid HTTP is accepted, also in forms that few clients send', async (t) => {
  for (const parts of takenHeads(daemon.token))
    t.equal((await ask(t, good(parts), show(parts))).status, 202, show(parts));
  for (const coding of ['gzip', 'GZip', 'x-gzip']) {
    const text = body();
    const members = [text.slice(0, 50), text.slice(50)].map((part) => gzipSync(part));
    const whole = { headers: { 'content-encoding': coding }, body: Buffer.concat(members) };
    t.equal((await ask(t, good(whole), coding)).status, 202, coding);
  }
});

for (const { status, code, headers, sent } of rejectedHeads(daemon.token)) {
  t.test(
    `${status} ${code} answers ${sent.length} requests, with ${show(Object.keys(headers))}`,
    async (t) => {
      for (const one of sent) {
        const bytes = Buffer.isBuffer(one) ? one : good(one);
        const what = show(Buffer.isBuffer(one) ? one.toString('latin1') : one);
        const answer = await ask(t, bytes, what);
        checkProblem(t, answer, status, code, what);
        const found = Object.keys(headers).map((name) => [name, answer.headers.get(name)]);
        t.strictSame(Object.fromEntries(found), headers, what);
        t.notOk(answer.body.includes(daemon.token.slice(1, -1)), 'the token is not told');
      }
    },
  );
}

t.test('the first of several faults is answered, in the order of the guide', async (t) => {
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
  for (const [i, [status, code]] of ladder.entries()) {
    const {
      target = '/v1/events',
      method = 'POST',
      ...headers
    } = Object.assign(
      { expect: '100-continue', 'content-length': '3' },
      ...ladder.slice(i).map(([, , faulty]) => faulty),
    );
    const answer = await ask(t, request(daemon, { line: `${method} ${target} HTTP/1.1`, headers }), code);
    checkProblem(t, answer, status, code, code, status === 413 ? ['limit_bytes', 'size_bytes'] : []);
    // Without a 100 the client may not send the body.
    t.equal(answer.headers.get('connection'), 'close');
  }
});

t.test(
  'a HEAD is answered once and without a body, before its own has come, or with a request behind',
  async (t) => {
    const line = 'HEAD /v1/events HTTP/1.1';
    const whole = request(daemon, { line });
    const unread = request(daemon, { line, headers: { 'content-length': '1000000' } });
    for (const [what, bytes] of Object.entries({ unread, pipelined: Buffer.concat([whole, whole]) })) {
      const client = await RawClient.connect(t, daemon, newAddress());
      client.send(bytes);
      client.socket.end();
      await client.over;
      t.match(client.unread, /^HTTP\/1\.1 405 .*\r\nconnection: close\r\n.*\r\n\r\n$/is, what);
      t.match(client.unread, /\r\nAllow: POST\r\n/, what);
      t.equal(client.unread.split('HTTP/1.1').length, 2, `${what}: once`);
    }
  },
);

t.test('a 202 counts the duplicates that are another JSON value than the stored event', async (t) => {
  const conflicts = async (sent: unknown) =>
    (await answerOf(daemon.post(sent))).headers.get('courtd-conflicts');
  const sent = event({ payload: { x_ft: 1, y_ft: 2 }, lens: 'wide' });
  t.equal(await conflicts([sent, sent]), null);
  const same = { ...sent, payload: { y_ft: 2, x_ft: 1 }, revision: 0 };
  const backwards = Object.fromEntries(Object.entries(same).reverse());
  t.equal(await conflicts(JSON.stringify(backwards).replace('0.97', '97e-2')), null, 'the same value');
  const changes: object[] = [
    { payload: {} },
    { confidence: 0.5 },
    // The same instant, but not what was sent.
    { eot: '2026-03-14T15:09:26.5350Z' },
    { type: 'BALL_HIT' },
    { venue_id: 'venue-2' },
    { schema_version: '1.1' },
    { lens: undefined },
    { more: null },
  ];
  for (const change of changes)
    t.equal(await conflicts([{ ...sent, ...change }, event()]), '1', JSON.stringify(change));
});

const tooLarge = (t: Asserts, answer: Answer, what: string, size?: number) => {
  const further = size === undefined ? ['limit_bytes'] : ['limit_bytes', 'size_bytes'];
  const { limit_bytes, size_bytes } = checkProblem(t, answer, 413, 'body_too_large', what, further);
  t.strictSame([limit_bytes, size_bytes], [LIMIT, size], what);
};

t.test('a body over the limit is 413 with the limit, and one of the limit is not', async (t) => {
  const full = body().padEnd(LIMIT, ' ');
  const send = (parts: RequestParts, what: string) => ask(t, request(daemon, parts), what);
  const chunked = (size: number) => ({
    headers: { 'transfer-encoding': 'chunked' },
    body: `${size.toString(16)}\r\n${full.padEnd(size, ' ')}\r\n0\r\n\r\n`,
  });
  t.equal((await send({ body: full }, 'full')).status, 202);
  tooLarge(t, await send({ body: `${full} ` }, 'declared'), 'declared', LIMIT + 1);
  t.equal((await send(chunked(LIMIT), 'chunked')).body, '{"accepted":0,"duplicates":1}');
  tooLarge(t, await send(chunked(LIMIT + 1), 'chunked'), 'chunked');
  const petabyte = await send({ headers: { 'content-length': '9'.repeat(15) } }, 'a petabyte');
  tooLarge(t, petabyte, 'a petabyte', 999_999_999_999_999);
});

t.test('gzip is limited before and after decompression, and invalid gzip is answered 400', async (t) => {
  const send = (bytes: Buffer) => answerOf(daemon.post(bytes, { 'content-encoding': 'gzip' }));
  const full = body().padEnd(LIMIT, ' ');
  t.equal((await send(gzipSync(full))).status, 202);
  tooLarge(t, await send(gzipSync(`${full} `)), 'one byte over');
  const bomb = gzipSync(Buffer.alloc(3_000_000, ' '));
  t.ok(bomb.length < LIMIT, 'the bomb is small');
  tooLarge(t, await send(bomb), 'a bomb');
  bomb.writeUInt32LE(1, bomb.length - 4);
  tooLarge(t, await send(bomb), 'a bomb that says it is one byte');
  const whole = gzipSync(body());
  const [liar, damaged] = [Buffer.from(whole), Buffer.from(whole)];
  liar.writeUInt32LE(3_000_000, liar.length - 4);
  damaged[whole.length - 6]! ^= 1;
  const cut = [0, 10, -8, -1].map((end) => whole.subarray(0, end));
  // A zero byte behind a member ends it for Node, which says nothing of what follows.
  const behind = ['\0', 'x', '\0x', Buffer.concat([Buffer.of(0), gzipSync(body())])];
  const trailed = behind.map((bytes) => Buffer.concat([whole, Buffer.from(bytes)]));
  for (const bytes of [Buffer.from(body()), liar, damaged, ...cut, ...trailed])
    checkProblem(t, await send(bytes), 400, 'invalid_encoding', `${bytes.length} of ${whole.length} bytes`);
  checkProblem(t, await send(gzipSync('{')), 400, 'invalid_json', 'good gzip of bad JSON');
});

t.test(
  'a client that resets in the middle of its request is logged as that, and not as a refusal',
  async (t) => {
    // The lines of refusals before may still be on their way in the log of the other one.
    const daemon = await Daemon.start(t, ['--log-level', 'debug']);
    const client = await RawClient.connect(t, daemon);
    const from = daemon.log.length;
    client.send(request(daemon, { headers: { 'content-length': '100', expect: '100-continue' }, body: '[' }));
    await once(client.socket, 'data');
    client.socket.resetAndDestroy();
    t.equal((await daemon.logged('the client disconnected', from)).level, 'debug');
    t.notOk(daemon.log.slice(from).some(({ msg }) => /rejected|bug/.test(msg)));
  },
);

t.test('an answer says nothing of the software, and names the request as the log does', async (t) => {
  const answers = [await ask(t, request(daemon), 'a'), await ask(t, request(daemon), 'b')];
  for (const { headers } of [...answers, await ask(t, good(), 'good')])
    t.strictSame([headers.get('server'), headers.get('x-powered-by')], [null, null]);
  const [a, b] = answers.map((answer) => JSON.parse(answer.body).request_id);
  t.match([a, b], [/^[0-9a-f]{8}-[0-9a-f]{4}$/, /^[0-9a-f]{8}-[0-9a-f]{4}$/]);
  t.not(a.slice(0, 8), b.slice(0, 8), 'and tells nobody how many there were');
  t.equal(await daemon.stop(), 0);
  for (const id of [a, b])
    t.match(
      daemon.log.filter((line) => line.request_id === id),
      [{ status: 400, code: 'invalid_json' }],
    );
});
