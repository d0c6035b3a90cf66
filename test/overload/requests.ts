import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { event, eventText } from '../harness/events.ts';
import type { Target } from './wire.ts';

/** What is sent: good requests, and large ones of every kind. */

const ID_BYTES = 12;
/** As vendors do it: a session has 50,000 events. */
const SESSION_EVENTS = 50_000;
const MIB = 1024 ** 2;
const LARGE_BYTES = 8 * MIB - 1024;

/** @returns a head that announces a body, or one in chunks of which nobody knows how many come. */
export function head(target: Target, bodyBytes: number | 'chunked', more: readonly string[] = []): Buffer {
  const lines = [
    'POST /v1/events HTTP/1.1',
    'Host: box:4000',
    ...(target.token === '' ? [] : [`Authorization: Bearer ${target.token}`]),
    'Content-Type: application/json',
    bodyBytes === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${bodyBytes}`,
    ...more,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}

/** Requests of some events each, whose ids are new in each of them: a template, and bytes written into it. */
export class Batches {
  readonly #bytes: Buffer;
  readonly #ids: number[] = [];
  readonly #events: number;
  readonly #session: string;
  readonly #sessions: number[] = [];
  #sent = 0;

  constructor(target: Target, name: string, events: number) {
    const id = 'f'.repeat(2 * ID_BYTES);
    this.#session = `${name}-${randomBytes(4).toString('hex')}-`;
    const batch = Array.from({ length: events }, () =>
      event({ event_id: id, session_id: `${this.#session}00000` }),
    );
    const body = Buffer.from(JSON.stringify(batch));
    this.#bytes = Buffer.concat([head(target, body.length), body]);
    this.#events = events;
    for (let at = this.#bytes.indexOf(id); at >= 0; at = this.#bytes.indexOf(id, at + 1)) this.#ids.push(at);
    const session = this.#session;
    for (let at = this.#bytes.indexOf(session); at >= 0; at = this.#bytes.indexOf(session, at + 1)) {
      this.#sessions.push(at + session.length);
    }
  }

  next(): Buffer {
    const bytes = Buffer.from(this.#bytes);
    const random = randomBytes(ID_BYTES * this.#events).toString('hex');
    for (const [i, at] of this.#ids.entries()) bytes.write(random.slice(24 * i, 24 * i + 24), at, 'latin1');
    const session = String(Math.floor(this.#sent / SESSION_EVENTS)).padStart(5, '0');
    for (const at of this.#sessions) bytes.write(session, at, 'latin1');
    this.#sent += this.#events;
    return bytes;
  }
}

/** Bodies of about eight MiB. Each is made once and sent by all, so that the senders need no memory of their own. */
export const LARGE_BODIES = {
  /** Valid: one event with as many short numbers as fit. */
  numbers: () => single(Array.from({ length: LARGE_BYTES / 4 }, () => '0.5').join(',')),
  /** Valid: five hundred events with many numbers each, of more digits than a double holds. */
  digits: () => {
    const numbers = Array.from({ length: 800 }, (_, i) => `${i}.12345678901234567`)
      .join(',')
      .slice(0, 16_000);
    const payload = numbers.slice(0, numbers.lastIndexOf(','));
    return Buffer.from(`[${Array.from({ length: 500 }, () => text(payload)).join(',')}]`);
  },
  /** Valid, and the most memory for its size: empty objects. */
  objects: () => single(Array.from({ length: LARGE_BYTES / 3 }, () => '{}').join(',')),
  /** Invalid at its very end. */
  invalid: () => {
    const event = text(Array.from({ length: 4_000 }, () => '0.5').join(','));
    return Buffer.from(
      `[${Array.from({ length: 499 }, () => event).join(',')},${event.replace('0.97', '97')}]`,
    );
  },
  /** Not JSON, from its very end. */
  broken: () =>
    Buffer.from(
      `${single(
        '1'
          .repeat(LARGE_BYTES / 2)
          .split('')
          .join(','),
      ).toString()}]`,
    ),
  /** More than fits, of what is nothing when packed. */
  bomb: () => gzipSync(Buffer.alloc(1024 * MIB, ' '), { level: 9 }),
  /** As much as may be, of what is nothing when packed. */
  packed: () => gzipSync(LARGE_BODIES.numbers(), { level: 9 }),
} as const;

export type LargeKind = keyof typeof LARGE_BODIES;

function single(numbers: string): Buffer {
  return Buffer.from(text(numbers));
}

function text(list: string): string {
  return eventText({ payload: `{"list":[${list}]}` }, { session_id: 'large' });
}
