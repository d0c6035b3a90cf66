import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { MsgHdrs } from '@nats-io/transport-node';

/** A chunk of a box's log is one message: events as `courtd tail --json` prints them, one line each, as gzip (design 8). */

/** A chunk has no more than this, but always one event; its bytes are those of the lines, in UTF-8. */
export const CHUNK_LIMITS = { events: 500, bytes: 512 * 1024 } as const;
/** Unpacked, at most: one event always fits, and may be as large as a request. */
const UNPACKED_BYTES_MAX = 128 * 1024 ** 2;

const LINE_SEQ = /^\{"seq":(\d{1,15}),/;
const EVENT = '"event":';
const ERASED = '"erased":true,';
const PAYLOAD = ',"payload":';
const gzip: (text: string) => Promise<Buffer> = promisify<string, Buffer>(zlib.gzip);

export interface Chunk {
  /** The last seq of the chunk before; 0: none. Seqs between may be missing, because they were pruned. */
  readonly after: number;
  readonly last: number;
  /** With their line ends. */
  readonly lines: readonly string[];
}

/** @returns the message that carries a chunk: its data, and its headers by name. */
export async function messageOf({ after, last, lines }: Chunk) {
  const data = await gzip(lines.join(''));
  const headers = {
    'Courtd-After': `${after}`,
    'Courtd-Last': `${last}`,
    'Courtd-Count': `${lines.length}`,
    'Courtd-SHA256': sha256Of(data),
  };
  return { data, headers };
}

/** @returns the chunk of a message, or in what the message is damaged. */
export function readChunk(data: Uint8Array, headers: Pick<MsgHdrs, 'get'> | undefined): Chunk | string {
  const numberIn = (name: string) => Number(/^\d{1,15}$/.exec(headers?.get(name) ?? '')?.[0]);
  const [after, last, count] = [numberIn('Courtd-After'), numberIn('Courtd-Last'), numberIn('Courtd-Count')];
  if (!(after < last && count > 0)) return 'it does not have the headers of a chunk';
  if (headers?.get('Courtd-SHA256') !== sha256Of(data)) return 'its data does not match Courtd-SHA256';
  let lines: string[];
  try {
    const text = zlib.gunzipSync(data, { maxOutputLength: UNPACKED_BYTES_MAX }).toString();
    lines = text.match(/[^\n]*\n/g) ?? [];
  } catch {
    return 'its data cannot be unpacked';
  }
  if (lines.length !== count) return `it has ${lines.length} events, but Courtd-Count is ${count}`;
  let seq = after;
  for (const line of lines) {
    if (!(seqOf(line) > seq)) return `its events are not in the order of their seq, after ${seq}`;
    seq = seqOf(line);
  }
  return seq === last ? { after, last, lines } : `its last event is seq ${seq}, but Courtd-Last is ${last}`;
}

export function sha256Of(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** @returns the seq of an event's line; NaN if it has none. */
export function seqOf(line: string): number {
  return Number(LINE_SEQ.exec(line)?.[1]);
}

/**
 * Whether two lines are of one event, stored at the same moment under the same seq. An erasure and a pseudonym change only what
 * follows its payload, and add a mark.
 */
export function isSameEvent(one: string, other: string): boolean {
  // No name of a member can be in the strings before: their quotes have a backslash.
  const [a, b] = [one, other].map((line) => line.split(PAYLOAD, 1)[0]!.replace(ERASED + EVENT, EVENT));
  return a === b;
}
