import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import t from 'tap';
import { CONNECTIONS } from '../../../src/base/limits.ts';
import { AdmissionControl } from '../../../src/http/admission/admissionControl.ts';
import { Connections } from '../../../src/http/connection/connections.ts';

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
    this.emit('close');
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
  t.ok(arrive(connections, '10.1.0.1').connection);
  t.strictSame(
    all
      .filter(({ socket }) => socket.destroyed)
      .map(({ socket }) => all.findIndex((one) => one.socket === socket)),
    [10],
  );
  for (const { connection } of all.slice(11)) connection?.markAuthenticated();
  arrive(connections, '10.1.0.2').connection?.markAuthenticated();
  t.equal(
    arrive(connections, '10.1.0.3').connection,
    undefined,
    'and where all have shown one, the newest is closed',
  );
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
