import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import t from 'tap';
import { CONNECTIONS, TRACKED_ADDRESSES, UNAUTHORIZED_PER_S } from '../../../src/base/limits.ts';
import { AdmissionControl } from '../../../src/http/admission/admissionControl.ts';
import { Connections } from '../../../src/http/connection/connections.ts';
import { stopClock } from '../../harness/clock.ts';

/** As much of a socket as is looked at here. */
class FakeSocket extends EventEmitter {
  readonly remoteAddress: string | undefined;
  destroyed = false;

  constructor(remoteAddress: string | undefined) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    this.destroyed = true;
    // Later, as of a real one.
    setImmediate(() => this.emit('close'));
  }
}

function arrive(connections: Connections, address: string | undefined) {
  const socket = new FakeSocket(address);
  return { socket, connection: connections.add(socket as unknown as Socket) };
}

t.test('when all places are taken, the oldest that never showed a token makes room', (t) => {
  const connections = new Connections(0, new AdmissionControl());
  const all = Array.from({ length: CONNECTIONS }, (_, i) => arrive(connections, `10.0.${i >> 8}.${i & 255}`));
  for (const { connection } of all.slice(0, 10)) connection?.markAuthenticated();
  for (const address of ['10.1.0.1', '10.1.0.2']) {
    const { connection } = arrive(connections, address);
    t.ok(connection);
    connection?.markAuthenticated();
  }
  t.strictSame(
    all
      .filter(({ socket }) => socket.destroyed)
      .map(({ socket }) => all.findIndex((one) => one.socket === socket)),
    [10, 11],
  );
  for (const { connection } of all.slice(12)) connection?.markAuthenticated();
  t.equal(
    arrive(connections, '10.1.0.3').connection,
    undefined,
    'and where all have shown one, the newest is closed',
  );
  t.end();
});

t.test('one that has made room counts no more, and no less', async (t) => {
  const connections = new Connections(2, new AdmissionControl());
  const [oldest] = ['10.1.0.1', '10.1.0.1'].map((address) => arrive(connections, address));
  for (let i = 2; i < CONNECTIONS; i++) arrive(connections, `10.0.${i >> 8}.${i & 255}`);
  const closed = once(oldest!.socket, 'close');
  t.ok(arrive(connections, '10.1.0.2').connection);
  await closed;
  t.ok(arrive(connections, '10.1.0.1').connection);
  t.notOk(arrive(connections, '10.1.0.1').connection);
});

t.test('a network that is refused too often within a second waits until it is over', (t) => {
  const pass = stopClock(t);
  const connections = new Connections(0, new AdmissionControl());
  const refuse = (network: string, times: number) => {
    for (let i = 0; i < times; i++) connections.countUnauthorized(network);
  };
  refuse('10.1.0.1', UNAUTHORIZED_PER_S);
  t.ok(arrive(connections, '10.1.0.1').connection);
  refuse('10.1.0.1', 1);
  pass(999);
  t.notOk(arrive(connections, '10.1.0.1').connection);
  t.ok(arrive(connections, '10.1.0.2').connection);
  pass(1);
  t.ok(arrive(connections, '10.1.0.1').connection);
  refuse('10.1.0.1', UNAUTHORIZED_PER_S + 1);
  t.notOk(arrive(connections, '10.1.0.1').connection);
  for (let i = 0; i < TRACKED_ADDRESSES; i++) refuse(`2001:db8:0:${i.toString(16)}::/64`, 1);
  t.ok(arrive(connections, '10.1.0.1').connection, 'only so many are remembered');
  t.end();
});

t.test('one machine with many IPv6 addresses is one', (t) => {
  const connections = new Connections(2, new AdmissionControl());
  t.ok(arrive(connections, '2001:db8::1').connection);
  t.ok(arrive(connections, '2001:db8::2').connection);
  t.notOk(arrive(connections, '2001:db8::3').connection);
  t.ok(arrive(connections, '2001:db8:0:1::1').connection);
  t.end();
});

t.test('a connection that has no address any more is closed', (t) => {
  const connections = new Connections(2, new AdmissionControl());
  t.ok(arrive(connections, undefined).socket.destroyed);
  t.end();
});
