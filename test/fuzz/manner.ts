/** Ways to ask that are in no way wrong, or wrong in one way that has its answer (design 2). */
export interface Manner {
  readonly version?: '1.0';
  readonly host?: string | undefined;
  readonly lines?: readonly string[];
  /** Nothing that comes behind it on its connection is served. */
  readonly isLast?: boolean;
  /** What it is answered, whatever its body is. */
  readonly answer?: 'malformed_request' | 'expectation_failed';
}

const HTTP2_SETTINGS = 'HTTP2-Settings: AAMAAABkAAQBAAAAAAIAAAAA';

export const MANNERS = {
  plain: {},
  // As Java's HttpClient and `curl --http2` ask for HTTP/2.
  h2c: { lines: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', HTTP2_SETTINGS], isLast: true },
  upgrade: { lines: ['Connection: Upgrade', 'Upgrade: x'], isLast: true },
  websocket: { lines: ['upgrade: websocket', 'connection: keep-alive, upgrade'], isLast: true },
  continue: { lines: ['Expect: 100-continue'] },
  CONTINUE: { lines: ['expect: 100-CONTINUE'] },
  'expects more': { lines: ['Expect: foo, 100-continue'], answer: 'expectation_failed' },
  close: { lines: ['Connection: close'], isLast: true },
  'HTTP/1.0': { version: '1.0', isLast: true },
  'HTTP/1.0, kept': { version: '1.0', lines: ['Connection: keep-alive'] },
  'HTTP/1.0 without Host': { version: '1.0', host: undefined, isLast: true },
  'Host with a port': { host: 'Court-Box.venue.lan:4000' },
  'Host of IPv6': { host: '[fe80::1]:4000' },
  'Host without a name': { host: '', answer: 'malformed_request' },
  'two words as Host': { host: 'a b', answer: 'malformed_request' },
  'a path as Host': { host: 'a/b', answer: 'malformed_request' },
} as const satisfies Readonly<Record<string, Manner>>;

export type MannerName = keyof typeof MANNERS;
