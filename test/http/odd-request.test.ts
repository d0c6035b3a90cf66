import http from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { show } from '../harness/badRequests.ts';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { checkProblem } from '../harness/problem.ts';
import { answerOf, RawClient, request } from '../harness/rawClient.ts';

/** What HTTP allows and few clients do is taken. */

const daemon = await Daemon.start(t, ['--rate-limit', '0']);
const ACCEPTED = '{"accepted":1,"duplicates":0}';

t.test('odd but valid heads of requests are taken', async (t) => {
  const types = [
    'application/json; charset=UTF-8',
    'application/json;charset="utf-8"',
    'APPLICATION/JSON',
    'application/json ; charset=utf-8',
    'application/json; a=b; charset=Utf-8',
    'application/json;',
  ];
  const heads: Record<string, string>[] = [
    ...types.map((type) => ({ 'content-type': type })),
    ...['bearer', 'BEARER', 'bEaReR', 'Bearer  '].map((scheme) => ({
      authorization: `${scheme} ${daemon.token}`,
    })),
    ...['identity', 'Identity', ''].map((coding) => ({ 'content-encoding': coding })),
    {
      accept: 'text/html',
      origin: 'http://example',
      'accept-encoding': 'br',
      upgrade: 'websocket',
      connection: 'upgrade',
    },
    { 'x-long': 'x'.repeat(8000), cookie: '\u00e9' },
  ];
  for (const headers of heads) {
    const bytes = request(daemon, { headers, body: JSON.stringify(event()) });
    t.equal((await RawClient.ask(t, daemon, bytes)).body, ACCEPTED, show(headers));
  }
});

t.test('a query is ignored, and a proxy may send the absolute form', async (t) => {
  for (const target of [
    '/v1/events?',
    '/v1/events?a=/b',
    'http://box/v1/events',
    'HTTPS://box:4000/v1/events?x',
  ]) {
    const bytes = request(daemon, { line: `POST ${target} HTTP/1.1`, body: JSON.stringify(event()) });
    t.equal((await RawClient.ask(t, daemon, bytes)).body, ACCEPTED, target);
  }
});

t.test('a body may come in chunks, byte by byte, and as gzip in several members', async (t) => {
  const body = JSON.stringify(event({ source: 'caf\u00e9 \u{1f3be}' }));
  const sender = http.request({
    port: daemon.port,
    path: '/v1/events',
    method: 'POST',
    headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
  });
  const answered = new Promise<http.IncomingMessage>((resolve) => sender.once('response', resolve));
  for (const byte of Buffer.from(body)) sender.write(Buffer.of(byte));
  sender.end();
  t.equal(await text(await answered), ACCEPTED);
  const [half, rest] = [body.slice(0, 50), body.slice(50)];
  for (const coding of ['gzip', 'GZip', 'x-gzip']) {
    const zipped = Buffer.concat([gzipSync(half), gzipSync(rest)]);
    const { status } = await answerOf(daemon.post(zipped, { 'content-encoding': coding }));
    t.equal(status, 202, coding);
  }
});

/** @returns a body in chunks of one byte. */
function inChunks(text: string): string {
  return `${text.replace(/./g, '1\r\n$&\r\n')}0\r\n\r\n`;
}

t.test(
  'a body in thousands of chunks of one byte is rejected, and one in larger chunks is stored',
  async (t) => {
    const body = JSON.stringify(event({ payload: { text: 'x'.repeat(500_000) } }));
    const headers = { 'transfer-encoding': 'chunked' };
    const answer = await RawClient.ask(t, daemon, request(daemon, { headers, body: inChunks(body) }));
    checkProblem(t, answer, 400, 'malformed_request', 'chunks of a byte');
    const pieces = body.match(/.{1,32}/g)!.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`);
    const bytes = request(daemon, { headers, body: `${pieces.join('')}0\r\n\r\n` });
    t.equal((await RawClient.ask(t, daemon, bytes)).body, ACCEPTED);
  },
);

t.test('one that is refused sees its answer', async (t) => {
  const body = inChunks(JSON.stringify(event({ payload: { text: 'x'.repeat(100_000) } })));
  const headers = { 'transfer-encoding': 'chunked', authorization: 'Bearer wrong' };
  const client = await RawClient.connect(t, daemon);
  client.socket.pause();
  await client.sendAll(request(daemon, { headers, body }));
  client.socket.resume();
  t.equal((await client.next()).status, 401);
  t.equal(await client.over, null);
});
