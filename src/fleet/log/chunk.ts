import { gunzipSync } from 'node:zlib';
import { type ChunkHead, sha256Of } from '../nats/fleetLog.ts';

/** The data of a chunk: events as `courtd tail --json` prints them, a line each, gzipped. */

/** A chunk holds no more than this, but always one event; its bytes are those of the lines, in UTF-8 (design 8). */
export const CHUNK_LIMITS = { events: 500, bytes: 512 * 1024 } as const;

/** Unpacked, at most: one event always fits, and may be as large as a request. */
export const UNPACKED_BYTES_MAX = 128 * 1024 ** 2;
const LINE_SEQ = /^\{"seq":(\d{1,15}),/;
const EVENT = '"event":';
const ERASED = '"erased":true,';
const PAYLOAD = ',"payload":';

/** A chunk of a box's log as headquarters has it. */
export interface StoredChunk {
  /** The last seq of the chunk before; 0: none. Seqs between may be missing, because they were pruned. */
  readonly after: number;
  readonly last: number;
  /** As `tail --json` writes them, with their line ends. */
  readonly lines: readonly string[];
}

/** @returns the lines of a text, with their ends; what follows the last end is none. */
export function linesIn(text: string): string[] {
  return text.match(/[^\n]*\n/g) ?? [];
}

/** @returns the events, one line each, with its end. @throws if the data is damaged. */
export function linesOf(data: Uint8Array): string[] {
  return linesIn(gunzipSync(data, { maxOutputLength: UNPACKED_BYTES_MAX }).toString());
}

/** @returns the seq of an event's line; NaN if it is none. */
export function seqOf(line: string): number {
  return Number(LINE_SEQ.exec(line)?.[1]);
}

/** @returns the events of a chunk, and how its data differs from its head: empty if it does not. */
export function readData(head: ChunkHead, data: Uint8Array): { lines: string[]; fault: string } {
  if (sha256Of(data) !== head.sha256) return { lines: [], fault: 'its data does not match Courtd-SHA256' };
  try {
    const lines = linesOf(data);
    return { lines, fault: linesFault(head, lines) };
  } catch {
    return { lines: [], fault: 'its data cannot be unpacked' };
  }
}

function linesFault({ after, last, count }: ChunkHead, lines: readonly string[]): string {
  if (lines.length !== count) return `it has ${lines.length} events, but Courtd-Count is ${count}`;
  let seq = after;
  for (const line of lines) {
    const next = seqOf(line);
    if (!(next > seq)) return `its events are not in the order of their seq, after ${seq}`;
    seq = next;
  }
  return seq === last ? '' : `its last event is seq ${seq}, but Courtd-Last is ${last}`;
}

/** @returns the part of a line that neither an erasure nor a pseudonym changes; its strings have no quote without a backslash. */
function unchangingPart(line: string): string {
  const end = line.indexOf(PAYLOAD);
  return end < 0 ? line : line.slice(0, end);
}

/** Whether two lines are of one event, stored at the same moment under the same seq: it may have been erased between them. */
export function isSameEvent(one: string, other: string): boolean {
  const [a, b] = [one, other].map((line) => unchangingPart(line).replace(ERASED + EVENT, EVENT));
  return a === b;
}

/** @returns the event of a line, as the JSON text that its camera sent: JSON.parse would round its long numbers. */
export function eventOf(line: string): string {
  return line.slice(line.indexOf(EVENT) + EVENT.length, line.lastIndexOf('}'));
}
