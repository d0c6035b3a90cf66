import { randomBytes } from 'node:crypto';
import { event } from '../harness/events.ts';
import type { Target } from './wire.ts';

/** What is sent: good requests. Large ones of every kind: harness/largeBodies.ts. */

const ID_BYTES = 12;
/** As vendors do it: a session has 50,000 events. */
const SESSION_EVENTS = 50_000;

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
