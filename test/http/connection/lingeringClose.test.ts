import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import t from 'tap';
import { LINGER_BYTES, LINGER_MS } from '../../../src/base/limits.ts';
import { discardInput, lingeringClose } from '../../../src/http/connection/lingeringClose.ts';

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
  discardInput(socket.asSocket);
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
  discardInput(socket.asSocket);
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
  discardInput(socket.asSocket);
  const [own, shared] = [Buffer.allocUnsafeSlow(100), Buffer.from(new ArrayBuffer(100), 0, 50)];
  for (const bytes of [own, shared]) socket.emit('data', bytes);
  t.equal(own.length, 0);
  t.equal(shared.length, 50);
  t.end();
});

t.test('over TLS all reads share one buffer, which is left alone', (t) => {
  const socket = new TLSSocket(new PassThrough());
  t.teardown(() => socket.destroy());
  discardInput(socket);
  const whole = Buffer.allocUnsafeSlow(100);
  socket.emit('data', whole);
  t.equal(whole.length, 100);
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
