import { gunzipSync } from 'node:zlib';
import { type ChunkHead, sha256Of } from '../nats/fleetLog.ts';

/** The data of a chunk: events as `courtd tail --json` prints them, a line each, gzipped. */

/** Unpacked, at most: one event always fits, and may be as large as a request. */
export const UNPACKED_BYTES_MAX = 128 * 1024 ** 2;
const LINE_SEQ = /^\{"seq":(\d{1,15}),/;
const EVENT = '"event":';

/** @returns the events, without line ends. @throws where the data is damaged. */
export function linesOf(data: Uint8Array): string[] {
  const text = gunzipSync(data, { maxOutputLength: UNPACKED_BYTES_MAX }).toString();
  return text.split('\n').filter((line) => line !== '');
}

/** @returns the seq of an event's line; NaN where it is none. */
export function seqOf(line: string): number {
  return Number(LINE_SEQ.exec(line)?.[1]);
}

/** @returns in what the data of a chunk is not what its head says; empty where it is. */
export function dataFault({ after, last, count, sha256 }: ChunkHead, data: Uint8Array): string {
  if (sha256Of(data) !== sha256) return 'its data is not what Courtd-SHA256 says';
  let lines: string[];
  try {
    lines = linesOf(data);
  } catch {
    return 'its data cannot be unpacked';
  }
  if (lines.length !== count) return `it has ${lines.length} events, and Courtd-Count says ${count}`;
  let seq = after;
  for (const line of lines) {
    const next = seqOf(line);
    if (!(next > seq)) return `its events are not in the order of their seq, after ${seq}`;
    seq = next;
  }
  return seq === last ? '' : `its last event is seq ${seq}, and Courtd-Last says ${last}`;
}

/** @returns the event of a line, as the JSON text that its camera sent: JSON.parse would round its long numbers. */
export function eventOf(line: string): string {
  return line.slice(line.indexOf(EVENT) + EVENT.length, line.lastIndexOf('}'));
}
