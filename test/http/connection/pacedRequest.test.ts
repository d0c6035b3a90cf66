import { EventEmitter, once } from 'node:events';
import http, { type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { freeBuffer } from '../../../src/base/ownMemory.ts';
import { PacedRequest } from '../../../src/http/connection/pacedRequest.ts';
import { ReadTurns } from '../../../src/http/connection/readTurns.ts';

class FakeSocket extends EventEmitter {
  readonly readable = true;
  readonly destroyed = true;
  isPaused = false;
  resumed = 0;
  readonly asSocket = this as unknown as Socket;

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.resumed++;
  }
}

t.test('eight connections are resumed in one turn, and all of them in the end', async (t) => {
  const sockets = Array.from({ length: 20 }, () => new FakeSocket());
  const [turns, ofAnother] = [new ReadTurns(), new ReadTurns()];
  for (const socket of sockets) turns.pause(socket.asSocket);
  const elsewhere = new FakeSocket();
  ofAnother.pause(elsewhere.asSocket);
  const paused = () => sockets.filter(({ isPaused }) => isPaused).length;
  for (const left of [12, 4, 0]) {
    await nextTurn();
    t.equal(paused(), left);
    t.notOk(elsewhere.isPaused, 'another server has turns of its own');
  }
});

t.test('a body in very small chunks takes a turn of its own after each thousand of them', async (t) => {
  const [socket, other] = [new FakeSocket(), new FakeSocket()];
  const request = new PacedRequest(socket.asSocket);
  const turns = new ReadTurns();
  const count = (chunks: number) => {
    for (let i = 0; i < chunks; i++) request.countChunk(turns);
  };
  count(1_023);
  t.notOk(socket.isPaused);
  count(1);
  t.ok(socket.isPaused);
  turns.pause(other.asSocket);
  await nextTurn();
  t.strictSame([socket.isPaused, other.isPaused], [false, true], 'nobody else in its turn');
  await nextTurn();
  t.notOk(other.isPaused);
  count(1_024);
  t.ok(socket.isPaused);
  await nextTurn();
});

t.test(
  'Node has a buffer of its own for each chunk of a body, so that its memory can be freed',
  async (t) => {
    const server = http.createServer({ IncomingMessage: PacedRequest }).listen(0, '127.0.0.1');
    t.teardown(() => server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const sent = http.request({ port, host: '127.0.0.1', method: 'POST' });
    sent.end(Buffer.alloc(1_000_000));
    const [request, response] = (await once(server, 'request')) as [PacedRequest, ServerResponse];
    const chunks: Buffer[] = [];
    await new Promise<void>((resolve, reject) => {
      request.readInto({ add: (bytes) => chunks.push(bytes), end: resolve, failed: reject });
    });
    response.end();
    t.ok(chunks.length > 2, `${chunks.length} chunks`);
    t.equal(new Set(chunks.map(({ buffer }) => buffer)).size, chunks.length);
    t.ok(chunks.every(({ buffer, byteLength }) => buffer.byteLength === byteLength));
    for (const chunk of chunks) freeBuffer(chunk);
    t.ok(chunks.every(({ length }) => length === 0));
  },
);

t.test('a body that is rejected unread is freed: what has arrived of it, and the rest', async (t) => {
  const server = http.createServer({ IncomingMessage: PacedRequest }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sent = http.request({ port, host: '127.0.0.1', method: 'POST' });
  sent.write(Buffer.alloc(50_000));
  const [request, response] = (await once(server, 'request')) as [PacedRequest, ServerResponse];
  while (request.readableLength === 0) await nextTurn();
  const arrived = request.read() as Buffer;
  request.unshift(arrived);
  request.dropBody();
  t.equal(arrived.length, 0);
  t.equal(request.readableLength, 0);
  sent.end(Buffer.alloc(50_000));
  await once(request, 'end');
  t.equal(request.readableLength, 0);
  response.end();
});
