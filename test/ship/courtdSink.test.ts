import fs from 'node:fs';
import http, { type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import t, { type Test } from 'tap';
import { SecretFile } from '../../src/base/secretFile.ts';
import type { EventFeed } from '../../src/ship/feed/eventFeed.ts';
import { CourtdSink } from '../../src/ship/sink/courtdSink.ts';
import { SinkError } from '../../src/ship/sink/sink.ts';
import { temporaryFolder } from '../harness/daemon.ts';
import { arrivalLine } from '../harness/simulatedBox.ts';

/** What answers in the place of another courtd. */

const TOKEN = 'S'.repeat(43);

interface Answered {
  readonly status: number;
  readonly body: string;
  readonly headers?: Record<string, string>;
}

async function sinkTo(t: Test, answer: (headers: IncomingHttpHeaders) => Answered, token = TOKEN) {
  const server = http.createServer((req, res) => {
    const { status, body, headers } = answer(req.headers);
    req.resume().once('end', () => res.writeHead(status, headers).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const creds = path.join(temporaryFolder(t), 'token');
  fs.writeFileSync(creds, token);
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [secret, ca] = [new SecretFile(creds, 'the token'), new SecretFile(undefined, 'it')];
  const sink = new CourtdSink({ url, name: url.href, token: secret, ca }, {} as EventFeed);
  t.teardown(async () => {
    await sink.close();
    server.closeAllConnections();
    server.close();
  });
  const lines = [1, 2].map((seq) => `${arrivalLine(seq)}\n`);
  const chunk = { epoch: 'e', lines, last: 2, isLast: true, after: 0 };
  return () => sink.send(chunk, { epoch: 'e', seq: 0, expected: 0 });
}

async function sinkErrorOf(t: Test, answered: Answered, token = TOKEN): Promise<SinkError> {
  const send = await sinkTo(t, () => answered, token);
  const error: unknown = await send().then(
    () => undefined,
    (error) => error,
  );
  if (error instanceof SinkError) return error;
  throw new Error(`no failure for ${JSON.stringify(answered)}`, { cause: error });
}

t.test('only a 202 that counts every event is an acknowledgement', async (t) => {
  const send = await sinkTo(t, () => ({ status: 202, body: '{"accepted":1,"duplicates":1}' }));
  t.match(await send(), { seq: 2 });
  for (const body of [
    '',
    'Welcome',
    '{}',
    'null',
    '{"accepted":1,"duplicates":0}',
    '{"accepted":"2","duplicates":""}',
  ]) {
    t.match(await sinkErrorOf(t, { status: 202, body }), { kind: 'refused', message: /is not courtd/ }, body);
  }
});

t.test('a redirect is not followed: the token would go with it', async (t) => {
  let asked = 0;
  for (const status of [301, 302, 307, 308]) {
    const send = await sinkTo(t, () => {
      asked++;
      return { status, body: '{"accepted":2,"duplicates":0}', headers: { Location: '/v1/events' } };
    });
    await t.rejects(send(), { kind: 'refused', message: /is not courtd/ }, `${status}`);
  }
  t.equal(asked, 4);
});

t.test('no event is left out because of a 400 that is no problem of courtd', async (t) => {
  const problem = '{"error":"The event is invalid.","details":[{"path":"venue_id","message":"is another"}]}';
  t.match(await sinkErrorOf(t, { status: 400, body: problem }), {
    kind: 'poison',
    message: /venue_id is another/,
  });
  for (const body of [
    '<html>400 The plain HTTP request was sent to HTTPS port</html>',
    '{"statusCode":400,"error":"Bad Request"}',
    '',
    '[]',
    'null',
  ])
    t.match(await sinkErrorOf(t, { status: 400, body }), { kind: 'refused', message: /is not courtd/ }, body);
});

t.test(
  'what it says is cut, told without the token, and waited for no longer than makes sense',
  async (t) => {
    const body = JSON.stringify({ error: `Bearer ${TOKEN} ${'x'.repeat(100_000)}` });
    const failure = await sinkErrorOf(t, { status: 503, body, headers: { 'Retry-After': '1e12' } });
    t.match(failure, { kind: 'waiting', message: /\(token removed\)/, retryMs: 300_000 });
    t.notMatch(failure.message, TOKEN);
    t.ok(failure.message.length < 1_000);
  },
);

t.test('a token that no header can carry is told, and not shown', async (t) => {
  for (const token of ['two\nlines', 'caf\u00e9', 'a\u0000b']) {
    const failure = await sinkErrorOf(t, { status: 202, body: '' }, token);
    t.match(failure, { kind: 'refused', message: /COURTD_SHIP_CREDS, is not a token/ });
    t.notMatch(failure.message, token.slice(0, 3));
  }
});
