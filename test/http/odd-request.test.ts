import fs from 'node:fs';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { show } from '../harness/badRequests.ts';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
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
    'application/json; charset=utf8',
    'application/json;charset="UTF8"',
  ];
  const heads: Record<string, string>[] = [
    ...types.map((type) => ({ 'content-type': type })),
    ...['bearer', 'BEARER', 'bEaReR', 'Bearer  '].map((scheme) => ({
      authorization: `${scheme} ${daemon.token}`,
    })),
    ...['identity', 'Identity'].map((coding) => ({ 'content-encoding': coding })),
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
  for (const coding of ['gzip', 'GZip']) {
    const zipped = Buffer.concat([gzipSync(half), gzipSync(rest)]);
    const { status } = await answerOf(daemon.post(zipped, { 'content-encoding': coding }));
    t.equal(status, 202, coding);
  }
});

/** @returns a body in chunks of one byte. */
function inChunks(text: string): string {
  return `${text.replace(/./g, '1\r\n$&\r\n')}0\r\n\r\n`;
}

t.test('a body in chunks of one byte takes no more memory than any other', async (t) => {
  const body = inChunks(JSON.stringify(event({ payload: { text: 'x'.repeat(500_000) } })));
  const bytes = request(daemon, { headers: { 'transfer-encoding': 'chunked' }, body });
  let answer = await RawClient.ask(t, daemon, bytes);
  // A slow machine does not read half a million chunks within 30 s: it is sent again, as the answer says.
  for (let again = 4; answer.status === 408 && again > 0; again--)
    answer = await RawClient.ask(t, daemon, bytes);
  t.equal(answer.body, '{"accepted":1,"duplicates":0}');
  const status = fs.readFileSync(`/proc/${daemon.child.pid}/status`, 'utf8');
  const peakMib = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  t.ok(peakMib < 200, `${peakMib} MiB`);
});

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
