import { createHash } from 'node:crypto';

/**
 * The log of a fleet, as it is stored at headquarters: a chunk of events is one message. It is a contract between boxes and
 * readers at headquarters: names and meaning stay.
 */

export const STREAM = 'FLEET';
/** The bucket `court-status`. */
export const STATUS_STREAM = 'KV_court-status';
export const SUBJECTS = 'court.v1.*.*';
export const STATUS_SUBJECTS = '$KV.court-status.>';
/** Of a message, at most: the largest event that a box accepts, and its headers. */
export const MESSAGE_BYTES = 9 * 1024 ** 2;

export const AFTER = 'Courtd-After';
export const LAST = 'Courtd-Last';
export const COUNT = 'Courtd-Count';
export const SHA256 = 'Courtd-SHA256';

export function subjectOf(box: string, epoch: string): string {
  return `court.v1.${box}.${epoch}`;
}

export function statusSubjectOf(box: string): string {
  return `$KV.court-status.${box}`;
}

/** @returns whose chunk it is. */
export function sourceOf(subject: string): { box: string; epoch: string } {
  const [, , box = '', epoch = ''] = subject.split('.');
  return { box, epoch };
}

export interface ChunkHead {
  /** The last seq before the chunk; 0 for the first of a box. Seqs between it and the first event were pruned. */
  readonly after: number;
  readonly last: number;
  readonly count: number;
  /** Of the message's data, in lower-case hex. */
  readonly sha256: string;
}

/** What headers are read from: those of the NATS library. */
export interface Headers {
  get(name: string): string;
}

/** @returns the values of the headers; undefined if they are not those of a chunk. */
export function chunkHead(headers: Headers | undefined): ChunkHead | undefined {
  if (headers === undefined) return undefined;
  const [after, last, count] = [AFTER, LAST, COUNT].map((name) => numberIn(headers.get(name)));
  const sha256 = headers.get(SHA256);
  if (after === undefined || last === undefined || count === undefined) return undefined;
  return /^[0-9a-f]{64}$/.test(sha256) ? { after, last, count, sha256 } : undefined;
}

function numberIn(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

export function sha256Of(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
