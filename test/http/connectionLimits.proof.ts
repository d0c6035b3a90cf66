import t from 'tap';
import { CONNECTIONS_PER_ADDRESS } from '../../src/base/limits.ts';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { newAddress, RawClient, request } from '../harness/rawClient.ts';

/** How many connections an address may have. */

const ACCEPTED = '{"accepted":1,"duplicates":0}';

const good = (daemon: Daemon) => request(daemon, { body: JSON.stringify(event()) });

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
