import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { Daemon } from '../daemon.ts';
import { event } from '../event.ts';
import { checkProblem } from '../problem.ts';
import { answerOf, RawClient, request } from '../raw.ts';

const ACCEPTED = '{"accepted":1,"duplicates":0}';

t.test(
  'over its rate an address is told 429 after the token is checked and before anything else',
  async (t) => {
    const daemon = await Daemon.start(t, ['--rate-limit', '1']);
    const client = await RawClient.connect(t, daemon);
    const body = JSON.stringify(event());
    const lost = request(daemon, { line: 'GET / HTTP/1.1' });
    const wrong = request(daemon, { headers: { authorization: 'Bearer wrong' } });
    // In one piece, so that no time passes between them. The burst is twice the rate.
    client.send(Buffer.concat([wrong, wrong, wrong, lost, lost, lost, wrong, request(daemon, { body })]));
    for (let i = 0; i < 3; i++)
      checkProblem(t, await client.next(), 401, 'unauthorized', 'a wrong token takes no share');
    for (let i = 0; i < 2; i++) checkProblem(t, await client.next(), 404, 'not_found', 'the burst');
    checkProblem(t, await client.next(), 429, 'rate_limited', 'before the path');
    checkProblem(t, await client.next(), 401, 'unauthorized', 'after the token');
    const limited = await client.next();
    checkProblem(t, limited, 429, 'rate_limited', 'a good event too');
    t.equal(limited.headers.get('retry-after'), '1');
    const neighbour = await RawClient.connect(t, daemon, '127.0.0.2');
    neighbour.send(request(daemon, { body: JSON.stringify(event()) }));
    t.equal((await neighbour.next()).body, ACCEPTED, 'another address is not held back');
    await wait(1000 * Number(limited.headers.get('retry-after')));
    t.equal(
      (await answerOf(daemon.post(body))).body,
      ACCEPTED,
      'who waits as told is served, and nothing was stored before',
    );
  },
);

t.test(
  'who is told 429 while its body comes, and asks again behind it, is not heard before its time',
  async (t) => {
    const daemon = await Daemon.start(t, ['--rate-limit', '1']);
    const client = await RawClient.connect(t, daemon);
    const body = JSON.stringify(event());
    const begun = request(daemon, { headers: { 'content-length': `${body.length}` } });
    client.send(Buffer.concat([request(daemon), request(daemon), begun]));
    for (let i = 0; i < 2; i++) checkProblem(t, await client.next(), 400, 'invalid_json', 'the burst');
    checkProblem(t, await client.next(), 429, 'rate_limited', 'before its body is there');
    client.send(body);
    const neighbour = await RawClient.connect(t, daemon, '127.0.0.2');
    neighbour.send(request(daemon));
    checkProblem(t, await neighbour.next(), 400, 'invalid_json', 'by now the body has been read');
    client.send(request(daemon, { body }));
    t.equal((await client.next()).body, ACCEPTED, 'heard at once, it would have been told 429 again');
  },
);

t.test('a rate of 0 is no limit', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const client = await RawClient.connect(t, daemon);
  client.send(Buffer.concat(Array.from({ length: 3000 }, () => request(daemon, { body: '[]' }))));
  for (let i = 0; i < 3000; i++) {
    const { status } = await client.next();
    if (status !== 202) t.fail(`${status} for request ${i}`);
  }
});

t.test('the usual rate is 1000 a second with a burst of 2000', async (t) => {
  const daemon = await Daemon.start(t);
  const client = await RawClient.connect(t, daemon);
  client.send(
    Buffer.concat(Array.from({ length: 12_000 }, () => request(daemon, { line: 'GET / HTTP/1.1' }))),
  );
  const startedAt = performance.now();
  let served = 0;
  for (let i = 0; i < 12_000; i++) if ((await client.next()).status === 404) served++;
  const refilled = performance.now() - startedAt;
  t.ok(served >= 2000, `${served} served`);
  t.ok(served <= 2000 + refilled + 100, `${served} served in ${refilled} ms`);
});
