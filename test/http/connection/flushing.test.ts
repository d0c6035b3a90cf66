import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { RESPONSE_WRITE_MS, UNSENT_RESPONSES_BYTES } from '../../../src/base/limits.ts';
import { AdmissionControl } from '../../../src/http/admission/admissionControl.ts';
import { Connection } from '../../../src/http/connection/connection.ts';
import { PacedRequest } from '../../../src/http/connection/pacedRequest.ts';
import { ReadTurns } from '../../../src/http/connection/readTurns.ts';

/** What a connection does while its client does not read: on fakes, because the kernel takes hundreds of answers at once. */

class FakeSocket extends EventEmitter {
  destroyed = false;
  writable = true;
  /** What the kernel has not taken yet. */
  writableLength = 0;
  parser: { onIncoming?: (req: object) => number } | null = null;
  isEnded = false;

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }

  pause(): void {}

  write(): void {}

  end(): void {
    this.isEnded = true;
  }
}

class FakeResponse extends EventEmitter {
  destroyed = false;
  body: string | undefined;
  written: string | undefined;

  writeHead(): void {}

  write(body: string): void {
    this.written = body;
  }

  end(body: string): void {
    this.body = body;
  }
}

function make(admission = new AdmissionControl()) {
  const socket = new FakeSocket();
  const registry = { isClosing: false, turns: new ReadTurns(), onAuthenticated: () => {} };
  const connection = new Connection(socket as unknown as Socket, 'client', 'network', admission, registry);
  const receive = (serve: () => void = () => {}) => {
    const res = new FakeResponse();
    const req = { headers: { 'content-length': '2' }, httpVersion: '1.1', complete: true } as unknown;
    connection.receive(req as PacedRequest, res as unknown as ServerResponse, serve);
    return res;
  };
  const respond = (body: string) => connection.respond({ status: 202, headers: {}, body }, false);
  /** Of a client that reads nothing. @returns the response that waits. */
  const stall = (bytes: number) => {
    const res = receive();
    socket.writableLength = bytes;
    respond('stalled');
    return res;
  };
  return { socket, connection, receive, respond, stall };
}

function stopTimers(t: Test): void {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
}

t.test('a request behind a response that is on its way is served after it', (t) => {
  const { receive, respond, stall } = make();
  const first = stall(100);
  let served = 0;
  const second = receive(() => {
    served++;
  });
  t.equal(served, 0);
  first.emit('finish');
  t.equal(served, 1);
  respond('second');
  t.equal(second.body, 'second');
  second.emit('finish');
  receive(() => {
    served++;
  });
  t.equal(served, 2, 'and at once where none is');
  t.end();
});

t.test('a body that broke before its request was served fails as soon as it is read', (t) => {
  const { socket, connection, stall } = make();
  const first = stall(100);
  const req = new PacedRequest(socket as unknown as Socket);
  connection.receive(req, new FakeResponse() as unknown as ServerResponse, () => {});
  t.equal(connection.parseFailed({ name: '', message: '', code: 'HPE_INVALID_CHUNK_SIZE' }), undefined);
  first.emit('finish');
  const failures: unknown[] = [];
  const unexpected = () => t.fail();
  req.readInto({ add: unexpected, end: unexpected, failed: (problem) => failures.push(problem?.code) });
  t.strictSame(failures, ['malformed_request']);
  t.end();
});

t.test('a connection that can take no answer is closed, whatever comes on it', (t) => {
  for (const [writable, code] of [
    [false, 'HPE_INVALID_METHOD'],
    [true, 'ECONNRESET'],
  ] as const) {
    const { socket, connection } = make();
    socket.writable = writable;
    t.equal(connection.parseFailed({ name: '', message: '', code }), undefined, code);
    t.ok(socket.destroyed, code);
  }
  t.end();
});

t.test('after its last response nothing is served, and a client without a token is closed', (t) => {
  for (const hasToken of [true, false]) {
    const { socket, connection, receive } = make();
    socket.parser = { onIncoming: () => 0 };
    if (hasToken) connection.markAuthenticated();
    receive();
    connection.respond({ status: 400, headers: {}, body: '' }, true);
    receive(() => t.fail('served'));
    t.equal(socket.destroyed, !hasToken);
    t.equal(socket.parser.onIncoming?.({}), -1, 'nor does the parser go on');
  }
  t.end();
});

t.test('after a CONNECT a reset harms nobody, and what was answered last stays the last answer', (t) => {
  const { socket, connection } = make();
  t.ok(connection.detach(), 'nothing is pending');
  connection.respondRaw({ status: 404, headers: {}, body: '' });
  t.notOk(connection.detach());
  socket.emit('error', new Error('ECONNRESET'));
  t.ok(socket.destroyed);
  t.end();
});

t.test('a client has so long to read a response, and no longer', (t) => {
  stopTimers(t);
  const slow = make();
  slow.stall(100);
  mock.timers.tick(RESPONSE_WRITE_MS - 1);
  t.notOk(slow.socket.destroyed);
  mock.timers.tick(1);
  t.ok(slow.socket.destroyed);
  const read = make();
  read.stall(100).emit('finish');
  mock.timers.tick(RESPONSE_WRITE_MS);
  t.notOk(read.socket.destroyed, 'one that was read in time');
  t.equal(read.socket.listenerCount('close'), 0, 'and nothing is left of it');
  t.end();
});

t.test(
  'what a response took of the bound is free again, once, when it is read or its client has gone',
  (t) => {
    stopTimers(t);
    const admission = new AdmissionControl();
    const half = UNSENT_RESPONSES_BYTES / 2;
    /** Whether there is room for all but one byte less than half; a network that has none always has room. */
    const hasRoom = () => {
      const release = admission.admitUnsent('network', half);
      release?.();
      return release !== undefined;
    };
    const other = admission.admitUnsent('other', half);
    const [read, gone, both] = [make(admission), make(admission), make(admission)];
    const res = read.stall(half);
    t.notOk(hasRoom());
    res.emit('finish');
    t.ok(hasRoom());
    gone.stall(half);
    t.notOk(hasRoom());
    gone.socket.destroy();
    t.ok(hasRoom());
    const last = both.stall(half);
    both.socket.destroy();
    last.emit('finish');
    // Released twice it would leave room for more than there is.
    t.equal(admission.admitUnsent('network', half + 1), undefined);
    const more = make(admission);
    more.stall(half + 1);
    t.ok(more.socket.destroyed, 'who does not read loses its connection');
    other?.();
    t.end();
  },
);
