import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { newAddress, RawClient, request } from '../harness/rawClient.ts';
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

async function rotate(...args: string[]): Promise<string> {
  return (await daemon.command('token', 'rotate', ...args)).stdout.trim();
}

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
