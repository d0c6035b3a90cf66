import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { AFTER, COUNT, chunkHead, type Headers, LAST, SHA256, sha256Of } from '../nats/fleetLog.ts';
import { readData, type StoredChunk } from './chunk.ts';

const gzip: (text: string) => Promise<Buffer> = promisify<string, Buffer>(zlib.gzip);

/** @returns the message that carries a chunk: its data, and its headers by name (design 8). */
export async function messageOf({ after, last, lines }: StoredChunk) {
  const data = await gzip(lines.join(''));
  const headers = {
    [AFTER]: String(after),
    [LAST]: String(last),
    [COUNT]: String(lines.length),
    [SHA256]: sha256Of(data),
  };
  return { data, headers };
}

/** @returns the chunk of a message; undefined if it is not one of courtd's, or is damaged. */
export function chunkOf(data: Uint8Array, headers?: Headers): StoredChunk | undefined {
  const head = chunkHead(headers);
  if (head === undefined || head.after >= head.last) return undefined;
  const { lines, fault } = readData(head, data);
  return fault === '' ? { after: head.after, last: head.last, lines } : undefined;
}
