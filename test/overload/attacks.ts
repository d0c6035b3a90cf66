import fc from 'fast-check';
import { fuzzCase, scriptOf } from '../fuzz/case.ts';
import { play } from '../fuzz/play.ts';
import { LARGE_BODIES, type LargeBody, type LargeKind } from '../harness/largeBodies.ts';
import { addresses, Crowd } from './crowd.ts';
import { openLoop } from './open-loop.ts';
import { Batches, head } from './requests.ts';
import { notFound, STRANGERS, unread } from './strangers.ts';
import { type Attack, count, type Wire } from './wire.ts';

/** Everything that can stand between a camera and its 202. */

const RETRY_MS = 1_000;
const KIB = 1024;
const CHURN_CASES = 1_000;
const CHURN_LANES = 100;

/** Half of them have said nothing yet, half have sent something good before. */
const idle: Attack = (target, tally) => {
  const batches = new Batches(target, 'idle', 1);
  const open = (wire: Wire, index: number) => {
    if (index % 2 === 1) return;
    wire.owed++;
    wire.socket.write(batches.next());
  };
  return new Crowd(target, tally, { size: 2_000, addresses: addresses(8) }, { open }).gather();
};

/** A header every now and then, for as long as they are let. */
const slowHeaders: Attack = (target, tally) => {
  const open = ({ socket }: Wire) => {
    socket.write('POST /v1/events HTTP/1.1\r\nHost: box\r\n');
    const timer = setInterval(() => socket.write('X-Slow: yes\r\n'), 500);
    socket.once('close', () => clearInterval(timer));
  };
  return new Crowd(target, tally, { size: 1_000, addresses: addresses(8) }, { open }).gather();
};

/** As many as leave room for the cameras, all with a token: most of a body at once, then a few bytes now and then: small bodies, and every eighth a large one. */
const slowBodies: Attack = (target, tally) => {
  const open = ({ socket }: Wire, index: number) => {
    const announced = index % 8 === 0 ? 8_000 * KIB : 63 * KIB;
    socket.write(head(target, announced));
    socket.write(Buffer.alloc(Math.min(announced - KIB, 256 * KIB), ' '));
    const timer = setInterval(() => socket.write('  '), 500);
    socket.once('close', () => clearInterval(timer));
  };
  return new Crowd(target, tally, { size: 1_500, addresses: addresses(8) }, { open }).gather();
};

/** They go away in the middle of a body, in one of three ways. */
const vanishing: Attack = (target, tally) => {
  const leave = ['end', 'destroy', 'resetAndDestroy'] as const;
  const open = ({ socket }: Wire, index: number) => {
    socket.write(head(target, 8_000 * KIB));
    socket.write(Buffer.alloc(16 * KIB * (1 + (index % 16)), ' '));
    setTimeout(() => {
      socket[leave[index % leave.length]!]();
      count(tally, 'vanished');
    }, 20);
  };
  return new Crowd(target, tally, { size: 100, addresses: addresses(8), againMs: 50 }, { open }).gather();
};

/** Two hundred senders of large bodies, each made once and sent by all, which wait a second when they are told to. */
function large(...kinds: readonly LargeKind[]): Attack {
  return (target, tally) => {
    const bodies = kinds.map((kind) => {
      const { body, headers = {} }: LargeBody = LARGE_BODIES[kind];
      const bytes = body();
      return [
        head(
          target,
          bytes.length,
          Object.entries(headers).map((header) => header.join(': ')),
        ),
        bytes,
      ] as const;
    });
    const ask = (wire: Wire, index: number) => {
      wire.owed++;
      for (const part of bodies[index % bodies.length]!) wire.socket.write(part);
    };
    const answered = (wire: Wire, status: number, index: number) => {
      setTimeout(() => ask(wire, index), status === 202 ? 0 : RETRY_MS);
    };
    const options = { size: 200, addresses: addresses(8), againMs: RETRY_MS };
    return new Crowd(target, tally, options, { open: ask, answered }).gather();
  };
}

/** A megabyte in chunks of one byte: each is a part of its own to the box, and six bytes on the wire. */
const tinyChunks: Attack = (target, tally) => {
  const chunks = Buffer.from(`${'1\r\n \r\n'.repeat(1024 * KIB)}0\r\n\r\n`);
  const ask = (wire: Wire, index: number) => {
    // Every other one has no right to ask.
    const from = index % 2 === 0 ? target : { ...target, token: 'wrong' };
    wire.owed++;
    wire.socket.write(head(from, 'chunked'));
    wire.socket.write(chunks);
  };
  const answered = (wire: Wire, _status: number, index: number) => ask(wire, index);
  return new Crowd(target, tally, { size: 8, addresses: addresses(8) }, { open: ask, answered }).gather();
};

/** Single events, each as soon as the one before it on its connection has been answered. */
function asAnswered(name: string, size: number, from: readonly string[]): Attack {
  return (target, tally) => {
    const batches = new Batches(target, name, 1);
    const ask = (wire: Wire) => {
      wire.owed++;
      wire.socket.write(batches.next());
    };
    return new Crowd(target, tally, { size, addresses: from }, { open: ask, answered: ask }).gather();
  };
}

/** One client that wants everything: as many requests as a thousand connections carry. */
const greedy = asAnswered('greedy', 1_000, ['127.0.1.1']);

/** As fast as answers come, on few connections: what the box can do. */
const saturation = asAnswered('peak', 64, addresses(4));

const overload: Attack = (target, tally, { perSecond = 1_000 }) =>
  openLoop(target, tally, { perSecond, addresses: addresses(4) });

/** Every way to come and go: what the fuzzer can think of, on a hundred connections at a time. */
const churn: Attack = async ({ port, token }, tally) => {
  const scripts = fc.sample(fuzzCase, CHURN_CASES).map((fuzzed) => scriptOf(fuzzed, token, 'churn'));
  const comeAndGo = async (from: number) => {
    for (let i = from; ; i++) {
      const { answers } = await play(port, scripts[i % scripts.length]!);
      count(tally, 'connections');
      for (const { status } of answers) count(tally, status);
    }
  };
  for (let lane = 0; lane < CHURN_LANES; lane++) void comeAndGo(lane * (CHURN_CASES / CHURN_LANES));
};

/** Requests to a path that is not there, by somebody with a token who takes no answer. */
const unreadNotFound: Attack = (target, tally) => unread(target, tally, notFound(target));

export const ATTACKS: Readonly<Record<string, Attack>> = {
  idle,
  'slow-headers': slowHeaders,
  'slow-bodies': slowBodies,
  vanishing,
  'large-numbers': large('numbers'),
  'large-digits': large('digits'),
  'large-many': large('many'),
  'large-objects': large('objects'),
  'large-invalid': large('invalid', 'broken'),
  'gzip-bombs': large('bomb', 'packed'),
  'tiny-chunks': tinyChunks,
  greedy,
  saturation,
  overload,
  churn,
  ...STRANGERS,
  'large-strangers': (target, tally, order) => large('numbers')({ ...target, token: '' }, tally, order),
  'unread-404': unreadNotFound,
};
