import { EventEmitter } from 'node:events';
import type https from 'node:https';
import type { Socket } from 'node:net';
import t from 'tap';
import type { Connection } from '../../../src/http/connection/connection.ts';
import { TlsHandshakes } from '../../../src/http/connection/tls.ts';

/** As much of a socket as is looked at here, of a client at this port. */
class FakeSocket extends EventEmitter {
  readonly remoteAddress = '127.0.0.1';
  readonly remotePort: number;
  allowHalfOpen = false;
  destroyed = false;

  constructor(port: number) {
    super();
    this.remotePort = port;
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
}

function make() {
  const server = new EventEmitter();
  const told: unknown[] = [];
  const handshakes = new TlsHandshakes(
    server as unknown as https.Server,
    (_connection, socket) => told.push(['ready', socket.allowHalfOpen]),
    (_connection, failure) => told.push(['failed', failure]),
  );
  /** A connection is accepted; its TLS socket is another one. */
  const begin = (port: number) => {
    const socket = new FakeSocket(port);
    const connection = { destroy: () => socket.destroy() } as unknown as Connection;
    handshakes.begin(connection, socket as unknown as Socket);
    return socket;
  };
  const secure = (port: number) => {
    const socket = new FakeSocket(port);
    server.emit('secureConnection', socket);
    return socket;
  };
  const fail = (port: number, code: string) => {
    server.emit('tlsClientError', { code }, new FakeSocket(port));
  };
  return { handshakes, told, begin, secure, fail };
}

t.test('after its handshake a client may half-close and still gets its answer', (t) => {
  const { told, begin, secure } = make();
  const socket = begin(1);
  t.notOk(socket.allowHalfOpen, 'before that it has given up');
  secure(1);
  socket.destroy();
  t.strictSame(told, [['ready', true]], 'the end of its connection is no failed handshake');
  t.ok(secure(1).destroyed, 'one that was reset meanwhile is gone');
  t.equal(told.length, 1);
  t.end();
});

t.test('a handshake that fails is told with the reason, if it is one', (t) => {
  const { told, begin, fail } = make();
  for (const [code, expected] of [
    ['ERR_SSL_HTTP_REQUEST', 'ERR_SSL_HTTP_REQUEST'],
    ['ECONNRESET', undefined],
  ] as const) {
    const socket = begin(1);
    fail(1, code);
    socket.destroy();
    t.strictSame(told.splice(0), [['failed', expected]]);
  }
  fail(2, 'of a connection that was refused');
  t.strictSame(told, []);
  t.end();
});

t.test('a client that connects from the port of another one is not taken for it', (t) => {
  const { handshakes, told, begin, secure } = make();
  const first = begin(1);
  const second = begin(1);
  first.destroy();
  t.strictSame(told, []);
  secure(1);
  t.strictSame(told.splice(0), [['ready', true]]);
  t.notOk(second.destroyed);
  const third = begin(3);
  handshakes.destroyAll();
  t.ok(third.destroyed);
  t.strictSame(told, [['failed', undefined]]);
  t.end();
});
