import type { Socket } from 'node:net';
import { LARGE_BODIES, type LargeBody, type LargeKind } from '../harness/largeBodies.ts';
import { request } from '../harness/rawClient.ts';
import { type Behaviour, gather, type Target } from './crowd.ts';

/**
 * What can keep a camera from its 202: `fork(attacks.ts, [name, JSON of the target])` says 'ready' when the attack is in
 * full swing, and continues until it is killed.
 */

const KIB = 1024;
const PIECE_BYTES = 64 * KIB;
/** A sender that was answered 503. */
const RETRY_MS = 1_000;
/** The smallest request that gets as far as the token. */
const TOKENLESS = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2_000));

/** Half a head, and a header every now and then for as long as they are let. */
const slowHeaders: Behaviour = {
  size: 2_000,
  open: (socket) => {
    socket.write('POST /v1/events HTTP/1.1\r\nHost: box\r\n');
    const timer = setInterval(() => socket.write('X-Slow: yes\r\n'), 500);
    socket.once('close', () => clearInterval(timer));
  },
};

/** Large bodies, each made once and sent by all: again when the answer has come. */
function large(target: Target, ...kinds: readonly LargeKind[]): Behaviour {
  const requests = kinds.map((kind) => {
    const { body, headers = {} }: LargeBody = LARGE_BODIES[kind];
    return request(target, { headers, body: body() });
  });
  const open = (socket: Socket, index: number) => {
    socket.write(requests[index % requests.length]!);
  };
  return { size: 200, open, answered: (socket, index) => setTimeout(() => open(socket, index), RETRY_MS) };
}

/** A megabyte in chunks of one byte; every other sender has no right to ask. */
function tinyChunks(target: Target): Behaviour {
  const chunks = Buffer.from(`${'1\r\n \r\n'.repeat(KIB ** 2)}0\r\n\r\n`);
  const open = (socket: Socket, index: number) => {
    const headers = { 'transfer-encoding': 'chunked' };
    socket.write(
      request(index % 2 === 0 ? target : { ...target, token: 'wrong' }, { headers, body: chunks }),
    );
  };
  return { size: 16, open };
}

/** Requests behind requests without end. @param isReading whether their answers are read. */
function pour(size: number, isReading: boolean, requests: Buffer): Behaviour {
  const open = (socket: Socket) => {
    while (socket.writable && socket.write(requests));
    socket.once('drain', () => open(socket));
  };
  return { size, isReading, open };
}

/** Most of a body at once, then a few bytes now and then; every eighth body is a large one. */
function slowBodies(target: Target): Behaviour {
  const open = (socket: Socket, index: number) => {
    const announced = index % 8 === 0 ? 8_000 * KIB : 63 * KIB;
    socket.write(request(target, { headers: { 'content-length': `${announced}` } }));
    socket.write(Buffer.alloc(Math.min(announced - KIB, 4 * PIECE_BYTES), ' '));
    const timer = setInterval(() => socket.write('  '), 500);
    socket.once('close', () => clearInterval(timer));
  };
  return { size: 1_500, open };
}

const ATTACKS = {
  'slow headers, no token': () => slowHeaders,
  'pipelining without end, no token': () => pour(8, true, TOKENLESS),
  'answers that are not read, no token': () => pour(70, false, TOKENLESS),
  'large bodies': (target) => large(target, 'numbers', 'objects', 'broken', 'bomb'),
  'slow bodies': slowBodies,
  'tiny chunks': tinyChunks,
} as const satisfies Readonly<Record<string, (target: Target) => Behaviour>>;

export type AttackName = keyof typeof ATTACKS;
export const ATTACK_NAMES = Object.keys(ATTACKS) as AttackName[];

if (process.send !== undefined && import.meta.filename === process.argv[1]) {
  const target: Target = JSON.parse(process.argv[3]!);
  process.once('disconnect', () => process.exit());
  await gather(target.port, ATTACKS[process.argv[2] as AttackName](target));
  process.send('ready');
}
