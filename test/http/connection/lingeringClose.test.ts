import { EventEmitter, once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import t from 'tap';
import { LINGER_BYTES, LINGER_MS } from '../../../src/base/limits.ts';
import { discardInput, lingeringClose } from '../../../src/http/connection/lingeringClose.ts';
import { ReadTurns } from '../../../src/http/connection/readTurns.ts';

/** As much of a socket as is looked at here. */
class FakeSocket extends EventEmitter {
  readonly done: string[] = [];
  parser = null;
  readableLength = 0;
  readableEnded = false;
  /** What it is given here. */
  readonly asSocket = this as unknown as Socket;

  /** @returns what has been done with it since the last call. */
  told(): string[] {
    return this.done.splice(0);
  }

  destroy(): void {
    this.done.push('destroy');
  }

  destroySoon(): void {
    this.done.push('destroySoon');
  }

  end(): void {
    this.done.push('end');
  }

  pause(): void {
    this.done.push('pause');
  }

  resume(): void {
    this.done.push('resume');
  }
}

t.test('so much input is discarded, and each read counts as 4 KiB at least', (t) => {
  const socket = new FakeSocket();
  socket.readableLength = 1;
  discardInput(socket.asSocket, new ReadTurns());
  const quarter = LINGER_BYTES / 4;
  for (let i = 0; i < 3; i++) socket.emit('data', Buffer.allocUnsafeSlow(quarter));
  for (let i = 0; i < quarter / 4_096; i++) socket.emit('data', Buffer.from('x'));
  t.strictSame(socket.told(), []);
  socket.emit('data', Buffer.from('x'));
  t.strictSame(socket.told(), ['destroy']);
  t.end();
});

t.test('what Node has read already is drained first, then the connection waits for its turn', async (t) => {
  const socket = new FakeSocket();
  discardInput(socket.asSocket, new ReadTurns());
  socket.readableLength = 1;
  socket.emit('data', Buffer.from('x'));
  t.strictSame(socket.told(), []);
  socket.readableLength = 0;
  socket.emit('data', Buffer.from('x'));
  t.strictSame(socket.told(), ['pause']);
  await nextTurn();
  t.strictSame(socket.told(), ['resume']);
});

t.test('the memory of a read is freed, and not that of others which share it', (t) => {
  const socket = new FakeSocket();
  discardInput(socket.asSocket, new ReadTurns());
  const [own, shared] = [Buffer.allocUnsafeSlow(4_096), Buffer.from(new ArrayBuffer(4_096), 0, 2_048)];
  for (const bytes of [own, shared]) socket.emit('data', bytes);
  t.equal(own.length, 0);
  t.equal(shared.length, 2_048);
  t.end();
});

t.test('over TLS all reads share one buffer, which is left alone', (t) => {
  const socket = new TLSSocket(new PassThrough());
  t.teardown(() => socket.destroy());
  discardInput(socket, new ReadTurns());
  const whole = Buffer.allocUnsafeSlow(4_096);
  socket.emit('data', whole);
  t.equal(whole.length, 4_096);
  t.end();
});

t.test('the connection is closed when the client has closed its side, or after so long', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const socket = new FakeSocket();
  lingeringClose(socket.asSocket);
  t.strictSame(socket.told(), ['end']);
  mock.timers.tick(LINGER_MS - 1);
  t.strictSame(socket.told(), []);
  mock.timers.tick(1);
  t.strictSame(socket.told(), ['destroy']);
  const ending = new FakeSocket();
  lingeringClose(ending.asSocket);
  ending.emit('end');
  t.strictSame(ending.told(), ['end', 'destroySoon']);
  ending.emit('close');
  mock.timers.tick(LINGER_MS);
  t.strictSame(ending.told(), []);
  const ended = new FakeSocket();
  ended.readableEnded = true;
  lingeringClose(ended.asSocket);
  t.strictSame(ended.told().sort(), ['destroySoon', 'end'], 'it had before');
  t.end();
});

t.test('Node has a buffer of its own for each read of a plain socket', async (t) => {
  const server = net.createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.teardown(() => client.destroy());
  const [socket] = (await once(server, 'connection')) as [Socket];
  const reads: Buffer[] = [];
  socket.on('data', (bytes: Buffer) => reads.push(bytes));
  client.write('small');
  await once(socket, 'data');
  client.end(Buffer.alloc(1_000_000));
  await once(socket, 'end');
  t.ok(reads.length > 2, `${reads.length} reads`);
  t.equal(new Set(reads.map(({ buffer }) => buffer)).size, reads.length);
  t.ok(
    reads.some(({ buffer, byteLength }) => buffer.byteLength === byteLength),
    'so that there is something to free',
  );
});

t.test("of what is discarded Node's parser sees nothing", async (t) => {
  const server = http.createServer((_req, res) => res.flushHeaders()).listen(0, '127.0.0.1');
  t.teardown(() => server.closeAllConnections());
  t.teardown(() => server.close());
  server.on('clientError', (error) => t.fail(`${error}`));
  await once(server, 'listening');
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: box\r\n\r\n');
  const [req] = (await once(server, 'request')) as [IncomingMessage];
  const { socket } = req;
  discardInput(socket, new ReadTurns());
  socket.on('data', () => t.pass('it comes'));
  client.write('nonsense\r\n\r\n');
  await once(socket, 'data');
  client.destroy();
});
