import { gzipSync } from 'node:zlib';

/** Every way to pack a body, good and bad. */

/** The limit of the daemon that is fuzzed: small enough that much crosses it. */
export const FUZZ_BODY_LIMIT_BYTES = 1024 ** 2;

export const PACKINGS = [
  'none',
  'gzip',
  'gzip in two members',
  'gzip cut',
  'gzip with one byte wrong',
  'gzip and text',
  'text called gzip',
  'bomb',
] as const;

/** A body as it is sent, and what it decodes to; undefined if it does not. */
export interface Rendered {
  readonly sent: Buffer;
  readonly decoded: Buffer | undefined;
}

export function packed(bytes: Buffer, packing: (typeof PACKINGS)[number]): Rendered {
  const half = bytes.length >> 1;
  switch (packing) {
    case 'none':
      return { sent: bytes, decoded: bytes };
    case 'gzip':
      return { sent: gzipSync(bytes), decoded: bytes };
    case 'gzip in two members': {
      const sent = Buffer.concat([gzipSync(bytes.subarray(0, half)), gzipSync(bytes.subarray(half))]);
      return { sent, decoded: bytes };
    }
    case 'gzip cut':
      return { sent: gzipSync(bytes).subarray(0, -9), decoded: undefined };
    case 'gzip with one byte wrong': {
      const sent = gzipSync(bytes);
      sent[sent.length - 6]! ^= 0x55;
      return { sent, decoded: undefined };
    }
    case 'gzip and text':
      return { sent: Buffer.concat([gzipSync(bytes), bytes]), decoded: undefined };
    case 'text called gzip':
      return { sent: bytes, decoded: undefined };
    case 'bomb':
      return { sent: gzipSync(Buffer.alloc(16 * FUZZ_BODY_LIMIT_BYTES, ' ')), decoded: undefined };
  }
}
