import { gzipSync } from 'node:zlib';
import { event, events, eventText } from './events.ts';

/** Large bodies of every kind, and how each is answered. Of those that are stored, "batch" has 500 events and each other kind one. */

const MIB = 1024 ** 2;
/** Less than BODY_VALUES with those of the event around them. */
const VALUES = 249_000;
const GZIP = { 'Content-Encoding': 'gzip' };

export interface LargeBody {
  readonly body: () => Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
}

const list = (value: string, count = VALUES) =>
  Buffer.from(
    eventText(
      { payload: `{"list":[${Array.from({ length: count }, () => value).join()}]}` },
      { session_id: 'single' },
    ),
  );
const track = Array.from({ length: 480 }, (_, i) => i / 8);
const batch = (session_id: string) => events(500, { session_id, payload: { track } });
const json = (value: unknown) => Buffer.from(JSON.stringify(value));

export const LARGE_BODIES = {
  batch: { body: () => json(batch('batch')), status: 202 },
  numbers: { body: () => list('0.5000000000000000000000'), status: 202 },
  /** The most memory for its size. */
  objects: { body: () => list('{}'), status: 202 },
  /** More than a double holds. */
  digits: { body: () => list('12345678901234567890.1234'), status: 202 },
  packed: { body: () => gzipSync(list('0.2500000000000000000000')), headers: GZIP, status: 202 },
  /** At its very end. */
  invalid: {
    body: () => json([...batch('bad').slice(1), event({ session_id: 'bad', confidence: 2 })]),
    status: 400,
  },
  broken: { body: () => Buffer.concat([list('1000000000000000000000'), Buffer.from(']')]), status: 400 },
  many: { body: () => list('1', 3 * MIB), status: 413 },
  bomb: { body: () => gzipSync(Buffer.alloc(64 * MIB, ' ')), headers: GZIP, status: 413 },
} as const satisfies Readonly<Record<string, LargeBody>>;

export type LargeKind = keyof typeof LARGE_BODIES;
