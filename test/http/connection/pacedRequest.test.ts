import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { PacedRequest } from '../../../src/http/connection/pacedRequest.ts';
import { ReadTurns } from '../../../src/http/connection/readTurns.ts';
import { Problem } from '../../../src/protocol/errors.ts';

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

/** A request, and what its reader has been told. */
function read(request: PacedRequest): string[] {
  const told: string[] = [];
  request.readInto({
    add: (bytes) => told.push(`${bytes}`),
    end: () => told.push('end'),
    failed: (problem) => told.push(problem?.code ?? 'disconnected'),
  });
  return told;
}

t.test('who reads a body gets what came before, and the rest as it comes', async (t) => {
  const request = new PacedRequest(new FakeSocket().asSocket);
  request.push(Buffer.from('one'));
  request.push(Buffer.from('two'));
  const told = read(request);
  t.strictSame(told, ['one', 'two']);
  t.ok(request.push(Buffer.from('three')));
  const ended = once(request, 'end');
  request.complete = true;
  request.push(null);
  t.strictSame(told, ['one', 'two', 'three', 'end']);
  await ended;
  t.ok(request.readableEnded, 'so that Node lets go of it');
  await nextTurn();
  t.equal(told.length, 4, 'and nothing is told twice');
});

t.test('a body that was complete before anybody read it', (t) => {
  const request = new PacedRequest(new FakeSocket().asSocket);
  request.push(Buffer.from('all'));
  request.complete = true;
  request.push(null);
  t.strictSame(read(request), ['all', 'end']);
  t.end();
});

t.test('of a body that is discarded nothing is told, and Node goes on reading it', (t) => {
  const request = new PacedRequest(new FakeSocket().asSocket);
  const told = read(request);
  request.discardBody();
  t.ok(request.push(Buffer.alloc(1_000_000)));
  request.push(null);
  t.strictSame(told, []);
  t.end();
});

t.test('a body that breaks, before or after somebody reads', (t) => {
  const [before, after] = [1, 2].map(() => new PacedRequest(new FakeSocket().asSocket));
  before!.failBody(new Problem('malformed_request', 'A sentence.'));
  const told = read(after!);
  after!.failBody(new Problem('request_timeout', 'A sentence.'));
  t.strictSame([read(before!), told], [['malformed_request'], ['request_timeout']]);
  t.end();
});

t.test('a connection that is gone, before or after somebody reads', async (t) => {
  const [before, after] = [1, 2].map(() => new PacedRequest(new FakeSocket().asSocket));
  before!.destroy();
  const told = read(after!);
  after!.destroy();
  await once(after!, 'close');
  t.strictSame([read(before!), told], [['disconnected'], ['disconnected']]);
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
