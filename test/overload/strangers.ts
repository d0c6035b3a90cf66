import type { Socket } from 'node:net';
import { addresses, Crowd } from './crowd.ts';
import { type Attack, count, type Tally, type Target, type Wire } from './wire.ts';

/** What somebody on the network can do who has no token. */

const KIB = 1024;
const MIB = KIB ** 2;
const PIECE = 64 * KIB;
/** The smallest request there is, and the smallest one that gets as far as the token. */
const SMALLEST = 'GET / HTTP/1.1\r\n\r\n';
const TOKENLESS = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** @returns what fits of whole requests into 64 KiB. */
function piece(request: string): Buffer {
  return Buffer.from(request.repeat(Math.floor(PIECE / request.length)));
}

/** Writes it again and again, as fast as it is taken. */
function pour(socket: Socket, bytes: Buffer, tally: Tally): void {
  while (socket.writable) {
    count(tally, 'MiB', bytes.length / MIB);
    if (!socket.write(bytes)) break;
  }
  socket.once('drain', () => pour(socket, bytes, tally));
}

/**
 * Requests whose answers are not read, and behind them what is no HTTP for as long as it is taken. On a real network 250 of
 * them fill what the kernel has for answers; on loopback that is 4 MiB and takes about ten thousand, so several numbers are tried.
 */
const unreadThenZeros: Attack = (target, tally) => {
  const zeros = Buffer.alloc(PIECE);
  const open = ({ socket }: Wire, index: number) => {
    count(tally, 'connections');
    socket.write(SMALLEST.repeat(index === 0 ? 250 : 8_000 + 250 * index));
    pour(socket, zeros, tally);
  };
  const options = { size: 16, addresses: addresses(8), isReading: false };
  return new Crowd(target, tally, options, { open }).gather();
};

/** Seventy connections with as many requests as are taken, whose answers are never read; they are held open. */
export function unread(target: Target, tally: Tally, request: string): Promise<void> {
  const requests = piece(request);
  const open = ({ socket }: Wire) => {
    count(tally, 'connections');
    pour(socket, requests, tally);
  };
  const options = { size: 70, addresses: addresses(2), isReading: false };
  return new Crowd(target, tally, options, { open }).gather();
}

/** @returns the smallest request that is let in, and finds nothing. */
export function notFound({ token }: Target): string {
  return `GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`;
}

/** Requests behind requests without end; half of them with no Host either. The answers are read. */
const pipelining: Attack = (target, tally) => {
  const kinds = [piece(TOKENLESS), piece(SMALLEST)];
  const open = (wire: Wire, index: number) => pour(wire.socket, kinds[index % 2]!, tally);
  return new Crowd(target, tally, { size: 8, addresses: addresses(8), againMs: 10 }, { open }).gather();
};

/** The same, but each connection ends when its 64 KiB have been answered, and the next one comes at once. */
const reconnecting: Attack = (target, tally) => {
  const requests = [TOKENLESS, SMALLEST];
  const open = (wire: Wire, index: number) => {
    count(tally, 'connections');
    const request = requests[index % 2]!;
    wire.owed = Math.floor(PIECE / request.length);
    wire.socket.write(piece(request));
  };
  const answered = (wire: Wire) => {
    if (wire.owed === 0) wire.socket.destroy();
  };
  const options = { size: 8, addresses: addresses(8), againMs: 1 };
  return new Crowd(target, tally, options, { open, answered }).gather();
};

/** Heads with as many fields as fit into the 16 KiB that a head may have, which never end. */
const manyFields: Attack = (target, tally) => {
  const fields = Array.from({ length: 985 }, (_, i) => `x${i}: ${i}\r\n`).join('');
  const head = Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${fields}`);
  const open = ({ socket }: Wire) => {
    count(tally, 'connections');
    socket.write(head);
  };
  return new Crowd(
    target,
    tally,
    { size: 8_000, addresses: addresses(40), againMs: 4_000 },
    { open },
  ).gather();
};

/** As many connections as courtd has, from one address; each that is closed is opened again. */
const allConnections: Attack = (target, tally) => {
  const open = () => count(tally, 'connections');
  return new Crowd(
    target,
    tally,
    { size: 8_192, addresses: addresses(1), againMs: 4_000 },
    { open },
  ).gather();
};

export const STRANGERS: Readonly<Record<string, Attack>> = {
  'unread-then-zeros': unreadThenZeros,
  'unread-answers': (target, tally) => unread(target, tally, SMALLEST),
  'pipelining-strangers': pipelining,
  'reconnecting-strangers': reconnecting,
  'many-fields': manyFields,
  'all-connections': allConnections,
};
