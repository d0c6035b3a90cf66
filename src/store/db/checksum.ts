import { crc32 } from 'node:zlib';
import type { Arrival, CourtEvent } from '../../protocol/courtEvent.ts';

const NAMES = ['venueId', 'courtId', 'source', 'type', 'schemaVersion'] as const;
const TEXTS = [...NAMES, 'sessionId', 'eventId', 'eot', 'eotDigits', 'payload'] as const;
const NUMBERS = ['revision', 'confidence', 'receivedMs'] as const;

/** An event as it is stored, with its names. */
export interface SummedRow extends Arrival {
  /** Nanoseconds since 1970-01-01T00:00:00Z, as decimal digits: a JavaScript number cannot hold them. */
  readonly eotDigits: string;
  readonly checksum: number;
}

/** Numbers of an event, as 64-bit words in the byte order of x86 and ARM. */
const words = new BigInt64Array(5);
const [doubles, unsigned] = [new Float64Array(words.buffer), new Uint32Array(words.buffer)];

/**
 * The checksum of an event (../../ARCHITECTURE.md#checksums): a CRC-32 over all that the event is. It has the names themselves and
 * not their numbers, so a row that leads to another name does not match, and it is the same in every copy of the database. The texts
 * begin with the numbers: another call for these, or their decimal digits, took a third longer.
 * @returns a signed 32-bit integer.
 */
export function checksumOf(
  event: Omit<CourtEvent, 'eotNs'>,
  eotNs: bigint,
  { seq, receivedMs }: Pick<Arrival, 'seq' | 'receivedMs'>,
): number {
  const { venueId, courtId, source, type, schemaVersion } = event;
  const { sessionId, eventId, revision, eot, confidence, payload, extra, erased } = event;
  doubles[0] = seq;
  doubles[1] = revision;
  doubles[2] = confidence;
  doubles[3] = receivedMs;
  words[4] = eotNs;
  // Names have no control characters, so the text is unambiguous.
  const origin = crc32(`${venueId}\n${courtId}\n${source}\n${type}\n${schemaVersion}`);
  const mark = erased ? '\nerased' : '';
  return crc32(`${sessionId}\n${eventId}\n${eot}\n${payload}\n${extra}${mark}`, mixed(origin)) | 0;
}

/** @returns whether a row is what was written. Its types are compared, too: damage turns a text into bytes, or 0 into NULL. */
export function isIntact(row: SummedRow): boolean {
  const hasTypes =
    TEXTS.every((name) => typeof row[name] === 'string') &&
    NUMBERS.every((name) => typeof row[name] === 'number') &&
    (row.extra === null || typeof row.extra === 'string');
  return hasTypes && checksumOf(row, BigInt(row.eotDigits), row) === row.checksum;
}

/** @returns a number that differs wherever one word does: each step can be undone. The constant is that of Knuth's hash. */
function mixed(start: number): number {
  let mix = start;
  for (let i = 0; i < unsigned.length; i++) {
    mix = Math.imul(mix ^ unsigned[i]!, 0x9e3779b1);
    mix ^= mix >>> 15;
  }
  return mix >>> 0;
}
