import { packMember, type StoredChunk } from '../../copy/members.ts';
import type { Piece } from '../../feed/eventFeed.ts';
import { readData } from '../../log/chunk.ts';
import { AFTER, COUNT, chunkHead, type Headers, LAST, SHA256, sha256Of } from '../../nats/fleetLog.ts';

export type { StoredChunk };

/** What goes to headquarters at once, whole or not at all. */
export interface Chunk extends Piece {
  /** The seq of the last event before it that headquarters has; 0: none. Seqs between may be missing: pruned, or left out. */
  readonly after: number;
}

/** What is published: its data, and its headers by name. */
export type Message = Awaited<ReturnType<typeof messageOf>>;

/** @param packed the lines, gzipped. @returns the message, with the headers of design 8. */
export async function messageOf({ after, last, lines }: StoredChunk, packed?: Buffer) {
  const data = packed ?? (await packMember(lines.join('')));
  const headers = {
    [AFTER]: String(after),
    [LAST]: String(last),
    [COUNT]: String(lines.length),
    [SHA256]: sha256Of(data),
  };
  return { data, headers };
}

/** @returns undefined where the message is not one of courtd's, or is damaged. */
export function chunkOf(data: Uint8Array, headers?: Headers): StoredChunk | undefined {
  const head = chunkHead(headers);
  if (head === undefined || head.after >= head.last) return undefined;
  const { lines, fault } = readData(head, data);
  return fault === '' ? { after: head.after, last: head.last, lines } : undefined;
}
