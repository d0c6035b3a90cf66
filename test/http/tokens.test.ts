import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { answerOf, newAddress, RawClient, request } from '../harness/rawClient.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** What the command line does to the tokens, the running daemon obeys at the next request, on open connections too. */

const daemon = await Daemon.start(t, ['--rate-limit', '0']);
let client = await RawClient.connect(t, daemon);

async function status(token: string): Promise<number> {
  const authorization = `Bearer ${token}`;
  client.send(request(daemon, { headers: { authorization }, body: JSON.stringify(event()) }));
  const answer = await client.next();
  // It ends the connection; and an address that asks too often is not let in for a while.
  if (answer.status === 401) client = await RawClient.connect(t, daemon, newAddress());
  return answer.status;
}

async function rotateOf(box: Daemon, ...args: string[]): Promise<string> {
  return (await box.command('token', 'rotate', ...args)).stdout.trim();
}

const rotate = (...args: string[]) => rotateOf(daemon, ...args);

t.test('a new token works at once, and the older one through its grace', async (t) => {
  t.equal(await status(daemon.token), 202);
  const second = await rotate();
  t.equal(await status(second), 202);
  t.equal(await status(daemon.token), 202);
  const third = await rotate('--grace', '1h');
  for (const token of [third, second, daemon.token]) t.equal(await status(token), 202);
});

t.test('a revoked token ends at once', async (t) => {
  const another = await rotate();
  t.equal((await daemon.command('token', 'revoke', '1')).status, 0);
  t.equal(await status(daemon.token), 401);
  t.equal(await status(another), 202);
});

t.test('a grace of 0 ends all older tokens at once', async (t) => {
  const [first, second] = [await rotate(), await rotate()];
  t.equal(await status(second), 202);
  const third = await rotate('--grace', '0');
  t.equal(await status(first), 401);
  t.equal(await status(second), 401);
  t.equal(await status(third), 202);
});

t.test('an older token ends when its grace does, and not before', async (t) => {
  const first = await rotate('--grace', '0');
  const second = await rotate('--grace', '1s');
  const tokens = JSON.parse((await daemon.command('token', 'list', '--json')).stdout);
  const ends = Date.parse(tokens.at(-2).expires_at);
  let last = 202;
  for (; last === 202 && Date.now() < ends + 10_000; last = await status(first)) await sleep(50);
  t.equal(last, 401);
  t.ok(Date.now() >= ends, 'not before');
  t.equal(await status(second), 202);
});

t.test('the first token works in a daemon that was started without one', async (t) => {
  const tokens = JSON.parse((await daemon.command('token', 'list', '--json')).stdout);
  const left = tokens.filter(({ state }: { state: string }) => state === 'active');
  t.equal(left.length, 1);
  const { status, stderr } = await daemon.command('token', 'revoke', `${left[0].id}`);
  t.equal(status, 0);
  t.match(stderr, /No token is left/);
  t.equal(await daemon.stop(), 0);
  const again = await Daemon.run(t, daemon.data, daemon.token);
  t.equal((await again.post(event())).status, 401);
  const token = (await again.command('token', 'rotate')).stdout.trim();
  t.equal((await again.post(event(), { Authorization: `Bearer ${token}` })).status, 202);
});

t.test('the log has the reason of each 401, and all clients get the same answer', async (t) => {
  const daemon = await Daemon.start(t);
  const revoked = await rotateOf(daemon);
  const retired = await rotateOf(daemon);
  t.equal((await daemon.command('token', 'revoke', '2')).status, 0);
  await rotateOf(daemon, '--grace', '0');
  const reasons = [
    [`Bearer ${daemon.token}`, '^token 1 has ended$'],
    [`Bearer ${revoked}`, '^token 2 has ended$'],
    [`Bearer ${retired}`, '^token 3 has ended$'],
    ['Bearer wrong', '^unknown token$'],
    ['Basic wrong', '^malformed header$'],
  ] as const;
  const answers: Record<string, unknown>[] = [];
  for (const [Authorization] of reasons) {
    const answer = await answerOf(daemon.post(event(), { Authorization }));
    answers.push(JSON.parse(answer.body));
  }
  t.equal(new Set(answers.slice(0, 4).map(({ error }) => error)).size, 1);
  await daemon.stop();
  for (const [i, [, reason]] of reasons.entries()) {
    const line = daemon.log.find(({ request_id }) => request_id === answers[i]?.request_id);
    t.match(line, { code: 'unauthorized', client: '127.0.0.1', reason: new RegExp(reason) });
    t.notOk(JSON.stringify(answers[i]).includes('token 1'), 'the answer does not tell which');
  }
  for (const token of [daemon.token, revoked, retired]) t.notOk(JSON.stringify(daemon.log).includes(token));
});
