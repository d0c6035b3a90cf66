import t from 'tap';
import { CONNECTIONS_PER_ADDRESS } from '../../src/base/limits.ts';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { newAddress, RawClient, request } from '../harness/rawClient.ts';

/** What a client without a token can do: each of these once ended the daemon, or made cameras wait. */

const ACCEPTED = '{"accepted":1,"duplicates":0}';
/** The smallest request there is. */
const SMALLEST = 'GET / HTTP/1.1\r\n\r\n';
const PIECE = Buffer.from(SMALLEST.repeat(Math.floor(65_536 / SMALLEST.length)));

const good = (daemon: Daemon) => request(daemon, { body: JSON.stringify(event()) });
const wrong = (daemon: Daemon) => request(daemon, { headers: { authorization: 'Bearer wrong' } });

t.test('a client that pipelines without a token gets one answer, and is cut off', async (t) => {
  const daemon = await Daemon.start(t);
  const client = await RawClient.connect(t, daemon, newAddress());
  client.send(Buffer.concat([wrong(daemon), wrong(daemon), PIECE]));
  await client.over;
  t.ok((client.unread.match(/HTTP\/1\.1 401/g) ?? []).length <= 1, client.unread);
  t.notMatch(client.unread, /HTTP\/1\.1 400/);
  // Its log comes through a pipe, and is whole when it has ended.
  await daemon.stop();
  const refused = daemon.log.filter(({ code }) => code === 'unauthorized');
  t.equal(refused.length, 1);
});

t.test('an address has a limit of connections, and the newest beyond it is closed', async (t) => {
  const daemon = await Daemon.start(t);
  const address = newAddress();
  const open = () => RawClient.connect(t, daemon, address);
  const clients: RawClient[] = [];
  for (let i = 0; i < CONNECTIONS_PER_ADDRESS; i++) clients.push(await open());
  const more = await open();
  await more.over;
  t.equal((await RawClient.ask(t, daemon, good(daemon), newAddress())).body, ACCEPTED, 'another address');
  for (const client of [clients[0]!, clients.at(-1)!]) {
    client.send(good(daemon));
    t.equal((await client.next()).body, ACCEPTED, 'those that are open are served');
  }
  clients.pop()!.socket.destroy();
  for (;;) {
    // The daemon may not have heard yet that one is gone.
    const again = await open();
    again.send(good(daemon));
    const answer = await again.next().catch(() => undefined);
    if (answer === undefined) continue;
    t.equal(answer.body, ACCEPTED, 'and there is a place again');
    break;
  }
});

t.test('for a proxy the limit of connections can be another one, or none', async (t) => {
  const few = await Daemon.start(t, [], undefined, { COURTD_CONNECTIONS_PER_ADDRESS: '2' });
  const clients = [];
  for (let i = 0; i < 3; i++) clients.push(await RawClient.connect(t, few));
  await clients[2]!.over;
  const all = await Daemon.start(t, ['--connections-per-address', '0']);
  let last: RawClient | undefined;
  for (let i = 0; i <= CONNECTIONS_PER_ADDRESS; i++) last = await RawClient.connect(t, all);
  last!.send(good(all));
  t.equal((await last!.next()).body, ACCEPTED);
});

t.test('a request whose sender has reset its connection has an address, or is none', async (t) => {
  const daemon = await Daemon.start(t, ['--log-level', 'debug']);
  t.equal((await RawClient.ask(t, daemon, good(daemon))).status, 202);
  daemon.child.kill('SIGSTOP');
  for (let i = 0; i < 20; i++) {
    const client = await RawClient.knock(t, daemon);
    await client.sendAll(good(daemon));
    client.socket.resetAndDestroy();
  }
  daemon.child.kill('SIGCONT');
  // By its answer the others have been read; and the last use of the token is one of theirs, if they are any.
  t.equal((await RawClient.ask(t, daemon, wrong(daemon))).status, 401);
  t.equal(await daemon.stop(), 0);
  const unknown = daemon.log.filter(({ client }) => client === 'unknown');
  t.strictSame(unknown, []);
  const { stdout } = await daemon.command('token', 'list', '--json');
  t.match(JSON.parse(stdout), [{ last_used_from: '127.0.0.1' }]);
});
