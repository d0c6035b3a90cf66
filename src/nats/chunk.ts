import { gunzipSync } from 'node:zlib';

/** The data of a chunk: events as `courtd tail --json` prints them, a line each, gzipped. */

/** Unpacked, at most: one event always fits, and may be as large as a request. */
const UNPACKED_BYTES_MAX = 128 * 1024 ** 2;
const LINE_SEQ = /^\{"seq":(\d{1,15}),/;
const EVENT = '"event":';

/** @returns the events, without line ends. @throws where the data is damaged. */
export function linesOf(data: Uint8Array): string[] {
  const text = gunzipSync(data, { maxOutputLength: UNPACKED_BYTES_MAX }).toString();
  return text.split('\n').filter((line) => line !== '');
}

/** @returns the seq of an event's line; NaN where it is none. */
export function seqOf(line: string): number {
  const match = LINE_SEQ.exec(line);
  if (match !== null) return Number(match[1]);
  try {
    const { seq } = JSON.parse(line);
    return Number.isSafeInteger(seq) ? seq : Number.NaN;
  } catch {
    return Number.NaN;
  }
}

/** @returns the event of a line, as the JSON text that its camera sent: JSON.parse would round its long numbers. */
export function eventOf(line: string): string {
  return line.slice(line.indexOf(EVENT) + EVENT.length, line.lastIndexOf('}'));
}
