import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t from 'tap';
import { type Cleanup, Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { checkProblem } from '../harness/problem.ts';
import { type Answer, newAddress, RawClient, type RequestParts, request } from '../harness/rawClient.ts';

/** Expectations, and several requests and half ones on one connection. */

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
    [404, 'not_found', good({ line: 'CONNECT a:1 HTTP/1.1', body: '' })],
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

t.test('after a rejection whose body has come the connection can be used again', async (t) => {
  const client = await RawClient.connect(t, daemon);
  const refused = [
    good({ line: 'PUT /v1/events HTTP/1.1' }),
    good({ headers: { 'content-type': 'text/csv' } }),
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
      client.socket.end();
      t.equal(await client.over, null);
    }
  },
);

/** @returns a body in chunks of one byte. */
function inChunks(text: string): string {
  return `${text.replace(/./g, '1\r\n$&\r\n')}0\r\n\r\n`;
}

t.test(
  'a body in thousands of chunks of one byte is rejected, and one in larger chunks is stored',
  async (t) => {
    const body = JSON.stringify(event({ payload: { text: 'x'.repeat(500_000) } }));
    const headers = { 'transfer-encoding': 'chunked' };
    const answer = await ask(t, request(daemon, { headers, body: inChunks(body) }));
    checkProblem(t, answer, 400, 'malformed_request', 'chunks of a byte');
    const pieces = body.match(/.{1,32}/g)!.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`);
    const bytes = request(daemon, { headers, body: `${pieces.join('')}0\r\n\r\n` });
    t.equal((await RawClient.ask(t, daemon, bytes)).body, ACCEPTED);
  },
);

t.test('a request that offers an upgrade is answered, and nothing behind it is served', async (t) => {
  const [first, second] = [event(), event()].map((one) => ({ ...one, session_id: 'upgrade' }));
  const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' };
  const client = await RawClient.connect(t, daemon);
  client.send(good({ headers, body: JSON.stringify(first) }));
  client.send(good({ body: JSON.stringify(second) }));
  const answer = await client.next();
  t.strictSame([answer.body, answer.headers.get('connection')], [ACCEPTED, 'close']);
  client.socket.end();
  await client.over;
  t.equal(client.unread, '');
  const stored = await daemon.exported('upgrade');
  t.strictSame(
    stored.map((line) => JSON.parse(line).event_id),
    [first!.event_id],
  );
});

t.test('a client that half-closes behind its request gets its answer', async (t) => {
  const client = await RawClient.connect(t, daemon);
  client.socket.end(good());
  t.equal((await client.next()).body, ACCEPTED);
});

t.test('bytes behind a request are not read until that request is answered', async (t) => {
  const lock = new Database(path.join(daemon.data, 'courtd.db'));
  t.teardown(() => lock.close());
  lock.exec('BEGIN IMMEDIATE');
  const client = await RawClient.connect(t, daemon);
  const before = daemon.bytesRead;
  client.send(Buffer.concat([good(), Buffer.alloc(1024 ** 2, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')]));
  t.equal((await client.next()).status, 503);
  const read = daemon.bytesRead - before;
  t.ok(read <= 256 * 1024, `${read} bytes were read`);
});
