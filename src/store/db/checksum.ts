import { crc32 } from 'node:zlib';
import type { Arrival, CourtEvent } from '../../protocol/courtEvent.ts';

const NAMES = ['type', 'courtId', 'venueId', 'source', 'schemaVersion'] as const;
const TEXTS = [...NAMES, 'sessionId', 'eventId', 'eot', 'eotDigits', 'payload'] as const;
const NUMBERS = ['revision', 'confidence', 'receivedMs'] as const;

/** The names that a camera repeats in every event (schema.ts). */
export type OriginNames = Pick<CourtEvent, (typeof NAMES)[number]>;

/**
 * The checksum of an event (../../ARCHITECTURE.md#checksums): a CRC-32 over all that the event is. It has the names themselves and
 * not their numbers, so a row that leads to another name does not match, and it is the same in every copy of the database.
 */
type Summed = Omit<Arrival, keyof OriginNames>;

/** An event as it is stored, with its names. */
export interface SummedRow extends Arrival {
  /** Nanoseconds since 1970-01-01T00:00:00Z, as decimal digits: a JavaScript number cannot hold them. */
  readonly eotDigits: string;
  readonly checksum: number;
}

/** Numbers of an event, as 64-bit words in the byte order of x86 and ARM. */
const words = new BigInt64Array(5);
const [doubles, unsigned] = [new Float64Array(words.buffer), new Uint32Array(words.buffer)];

/** @returns the checksum of the names of an origin, with which that of an event begins. */
export function originChecksum({ venueId, courtId, source, type, schemaVersion }: OriginNames): number {
  // Names have no control characters, so the text is unambiguous.
  return crc32(`${venueId}\n${courtId}\n${source}\n${type}\n${schemaVersion}`);
}

/** @param origin see originChecksum. @returns the checksum of an event that is to be stored, a signed 32-bit integer. */
export function checksumOf(
  event: CourtEvent,
  arrival: Pick<Summed, 'seq' | 'receivedMs'>,
  origin: number,
): number {
  words[4] = event.eotNs;
  return sum(event, arrival, origin);
}

/** @returns whether a row is what was written. Its types are compared, too: damage turns a text into bytes, or 0 into NULL. */
export function isIntact(row: SummedRow): boolean {
  const hasTypes =
    TEXTS.every((name) => typeof row[name] === 'string') &&
    NUMBERS.every((name) => typeof row[name] === 'number') &&
    (row.extra === null || typeof row.extra === 'string');
  if (!hasTypes) return false;
  words[4] = BigInt(row.eotDigits);
  return sum(row, row, originChecksum(row)) === row.checksum;
}

/** The texts, begun with the numbers: another call for these, or their decimal digits, took a third longer. */
function sum(
  event: Omit<Summed, 'seq' | 'receivedMs'>,
  { seq, receivedMs }: Pick<Summed, 'seq' | 'receivedMs'>,
  origin: number,
): number {
  const { sessionId, eventId, revision, eot, confidence, payload, extra, erased } = event;
  doubles[0] = seq;
  doubles[1] = revision;
  doubles[2] = confidence;
  doubles[3] = receivedMs;
  const mark = erased ? '\nerased' : '';
  return crc32(`${sessionId}\n${eventId}\n${eot}\n${payload}\n${extra}${mark}`, mixed(origin)) | 0;
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
