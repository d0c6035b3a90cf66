import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { PacedRequest, resumeSoon } from '../../../src/http/connection/pacedRequest.ts';

class FakeSocket extends EventEmitter {
  readonly readable = true;
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
  for (const socket of sockets) resumeSoon(socket.asSocket);
  const paused = () => sockets.filter(({ isPaused }) => isPaused).length;
  for (const left of [12, 4, 0]) {
    await nextTurn();
    t.equal(paused(), left);
  }
});

t.test('a body in very small chunks takes a turn of its own after each thousand of them', async (t) => {
  const socket = new FakeSocket();
  const request = new PacedRequest(socket.asSocket);
  const count = (chunks: number) => {
    for (let i = 0; i < chunks; i++) request.countChunk();
  };
  count(1_023);
  t.notOk(socket.isPaused);
  count(1);
  t.ok(socket.isPaused);
  const other = new FakeSocket();
  resumeSoon(other.asSocket);
  request._read(1);
  t.ok(socket.isPaused, 'Node would resume it on every tick');
  await nextTurn();
  t.strictSame([socket.isPaused, other.isPaused], [false, true], 'nobody else in its turn');
  const { resumed } = socket;
  request._read(1);
  t.equal(socket.resumed, resumed + 1, 'as of any other request');
  await nextTurn();
  t.notOk(other.isPaused);
  count(1_024);
  t.ok(socket.isPaused);
  await nextTurn();
});
