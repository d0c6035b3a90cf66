import type { Socket } from 'node:net';
import { http } from '../../base/nodeHttp.ts';
import type { HttpResponse } from '../../http/connection/connection.ts';

/** An answer of the daemon, as it is on the wire. */
export interface Answer {
  readonly bytes: Buffer;
  /** 0 for bytes that are no whole answer. */
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

const KEPT = /^(?:Date|Connection|Keep-Alive): .*\n/gim;
const HEAD_END = '\r\n\r\n';

/**
 * Splits what the daemon sends into its answers. Each of them has a Content-Length.
 * @param hasBody whether the next answer has a body of that length: not that to a HEAD (RFC 9110, 9.3.2).
 */
export async function* answersOf(
  chunks: AsyncIterable<Buffer>,
  hasBody: () => boolean,
): AsyncGenerator<Answer> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of chunks) {
    bytes = Buffer.concat([bytes, chunk]);
    for (let answer = firstOf(bytes, hasBody()); answer !== undefined; answer = firstOf(bytes, hasBody())) {
      bytes = bytes.subarray(answer.bytes.length);
      yield answer;
    }
  }
  if (bytes.length > 0) yield { bytes, status: 0, head: '', body: '' };
}

/** @returns undefined where it is not complete yet. */
function firstOf(bytes: Buffer, hasBody: boolean): Answer | undefined {
  const bodyAt = bytes.indexOf(HEAD_END) + HEAD_END.length;
  if (bodyAt < HEAD_END.length) return undefined;
  const head = bytes.toString('latin1', 0, bodyAt);
  const end = bodyAt + (hasBody ? Number(fieldOf(head, 'Content-Length') ?? 0) : 0);
  if (bytes.length < end) return undefined;
  return {
    bytes: bytes.subarray(0, end),
    status: statusOf(head),
    head,
    body: bytes.toString('utf8', bodyAt, end),
  };
}

export function statusOf(head: string): number {
  return Number(head.split(' ', 2)[1]);
}

/** @returns the value of a header field. */
export function fieldOf(head: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)\r$`, 'im').exec(head)?.[1];
}

/** @returns the bytes of another answer on the same connection. */
export function inPlaceOf({ head }: Answer, { status, headers, body }: HttpResponse): Buffer {
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const kept = head.match(headers.Connection === undefined ? KEPT : /^Date: .*\n/gim) ?? [];
  const lines = [`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n`, ...own, ...kept];
  return Buffer.from(`${lines.join('')}\r\n${body}`);
}

/** @returns when it is written, or cannot be. */
export function write(camera: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => camera.write(bytes, () => resolve()));
}
