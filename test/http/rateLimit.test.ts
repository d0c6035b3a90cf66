import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { checkProblem } from '../harness/problem.ts';
import { RawClient, request } from '../harness/rawClient.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const ACCEPTED = '{"accepted":1,"duplicates":0}';

t.test('an address above its rate gets 429 after the check of the token and before any other', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '1']);
  const client = await RawClient.connect(t, daemon);
  const body = JSON.stringify(event());
  const lost = request(daemon, { line: 'GET / HTTP/1.1' });
  const wrong = request(daemon, { headers: { authorization: 'Bearer wrong' } });
  const next = async (bytes: Buffer) => {
    client.send(bytes);
    return client.next();
  };
  for (let i = 0; i < 3; i++) {
    const refused = await RawClient.ask(t, daemon, wrong);
    checkProblem(t, refused, 401, 'unauthorized', 'a wrong token takes no share');
  }
  // The burst is twice the rate; a slow machine may have been given one more meanwhile.
  let passed = 0;
  let limited = await next(lost);
  for (; limited.status === 404 && passed < 10; limited = await next(lost)) passed++;
  t.ok(passed >= 2, `${passed} passed`);
  checkProblem(t, limited, 429, 'rate_limited', 'before the path');
  checkProblem(t, await RawClient.ask(t, daemon, wrong), 401, 'unauthorized', 'after the token');
  t.equal(limited.headers.get('retry-after'), '1');
  const neighbour = await RawClient.connect(t, daemon, '127.0.0.2');
  neighbour.send(request(daemon, { body: JSON.stringify(event()) }));
  t.equal((await neighbour.next()).body, ACCEPTED, 'another address is not held back');
  await wait(1000 * Number(limited.headers.get('retry-after')));
  t.equal(
    (await next(request(daemon, { body }))).body,
    ACCEPTED,
    'a client that waits for Retry-After is served on the same connection, and nothing was stored before',
  );
});
