import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { BATCH_EVENTS, SMALL_BODY_BYTES } from '../../src/base/limits.ts';
import { jsonObject, jsonValue, numberText } from '../harness/arbitraryJson.ts';
import { type RequestParts, request } from '../harness/rawClient.ts';
import { rejectedHeads, takenHeads } from '../harness/wireTable.ts';

/** Connections whose requests are rows of the wire table with any body, and edits at any byte. All of it is data, to be shrunk. */

/** The limit of the daemon that is fuzzed: small enough that much crosses it. */
export const FUZZ_BODY_LIMIT_BYTES = 1024 ** 2;

export interface FuzzCase {
  readonly requests: readonly FuzzRequest[];
  /** Parts of the length at which it is cut into pieces. */
  readonly cuts: readonly number[];
  /** After the last piece the sender half-closes; or, at a part of the length, it does that or disconnects. */
  readonly ending: 'end' | { readonly how: 'end' | 'reset' | 'destroy'; readonly at: number };
  /** Nothing is read before all has been written. */
  readonly isReadLate: boolean;
}

export interface FuzzRequest {
  /** A number of a row of the wire table. */
  readonly row: number;
  readonly headEdits: readonly Edit[];
  readonly body: FuzzBody;
  /** Sizes of its chunks; none where its length is declared. */
  readonly chunks: readonly number[];
  /** It is sent when those before it have been answered. */
  readonly waits: boolean;
}

interface FuzzBody {
  /** Fields of each event and their JSON texts; undefined leaves the field out. */
  readonly events: readonly (readonly Field[])[];
  /** Plain events besides. */
  readonly more: number;
  /** Spaces at the end, to make it large. */
  readonly spaces: number;
  readonly edits: readonly Edit[];
  readonly packing: 'none' | 'gzip' | 'gzip cut' | 'gzip and text' | 'bomb';
  /** It is a whole request itself. */
  readonly isCarrier: boolean;
}

type Field = readonly [name: string, text: string | undefined];
/** `at` is a part of the length. */
type Edit = readonly [how: 'insert' | 'remove' | 'replace' | 'end', at: number, text: string];

const words = (line: string) => line.split(' ');
const part = fc.double({ min: 0, max: 1, noNaN: true });
const rarely = <T>(usual: T, other: fc.Arbitrary<T>, weight = 8) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });

const oddTexts = words(
  'null true "" "\\u0000" "\\ud800" "é" [] {} -0 1.5 1e400 -1e-400 9007199254740993 01 1. +1 NaN "1.999" "2.0" ' +
    '"BALL_HIT" "2026-02-29T00:00Z" {"x_ft":"1"} {"x_ft":1e400} {"__proto__":{"x":1}} {"a":1,"a":2} [1,] {"a":} "unclosed',
);
const names = words(
  'event_id session_id venue_id court_id eot type confidence source schema_version revision payload unknown __proto__ a.b',
);
const deep = [30, 31, 32, 5_000].map((levels) => '['.repeat(levels) + ']'.repeat(levels));
const anyText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...oddTexts, `"${'x'.repeat(257)}"`, ...deep) },
  numberText,
  fc.oneof(jsonValue, jsonObject).map(({ text }) => text),
);
const field: fc.Arbitrary<Field> = fc.tuple(
  fc.constantFrom(...names),
  fc.option(anyText, { nil: undefined, freq: 8 }),
);
const bytes = [
  '\0',
  '\xff',
  '\xed\xa0\x80',
  '\r',
  '\n',
  '\r\n',
  '\r\n ',
  ' ',
  '\t',
  ...words('" \\ { } [ ] , : ; 0 1 z'),
];
const edits: fc.Arbitrary<Edit[]> = fc.array(
  fc.tuple(fc.constantFrom('insert', 'remove', 'replace', 'end'), part, fc.constantFrom(...bytes)),
  { minLength: 1, maxLength: 3 },
);
const sizes = [SMALL_BODY_BYTES, FUZZ_BODY_LIMIT_BYTES - 5_000, FUZZ_BODY_LIMIT_BYTES];
const body: fc.Arbitrary<FuzzBody> = fc.record({
  events: fc.array(rarely<Field[]>([], fc.array(field, { minLength: 1, maxLength: 3 }), 1), { maxLength: 5 }),
  more: rarely(0, fc.constantFrom(1, 3, BATCH_EVENTS - 2, BATCH_EVENTS + 1)),
  spaces: rarely(0, fc.constantFrom(...sizes)),
  edits: rarely<Edit[]>([], edits, 3),
  packing: rarely<FuzzBody['packing']>(
    'none',
    fc.constantFrom('gzip', 'gzip cut', 'gzip and text', 'bomb'),
    4,
  ),
  isCarrier: rarely(false, fc.constant(true), 15),
});
const fuzzRequest: fc.Arbitrary<FuzzRequest> = fc.record({
  // Half of them are plain.
  row: rarely(0, fc.nat(), 1),
  headEdits: rarely<Edit[]>([], edits, 4),
  body,
  chunks: rarely<number[]>(
    [],
    fc.array(fc.constantFrom(1, 15, 100, 4_096, 70_000), { minLength: 1, maxLength: 4 }),
    2,
  ),
  waits: fc.boolean(),
});
export const fuzzCase: fc.Arbitrary<FuzzCase> = fc.record({
  requests: fc.array(fuzzRequest, { minLength: 1, maxLength: 5 }),
  cuts: fc.array(part, { maxLength: 4 }),
  ending: rarely<FuzzCase['ending']>(
    'end',
    fc.record({ how: fc.constantFrom('end', 'reset', 'destroy'), at: part }),
    4,
  ),
  isReadLate: rarely(false, fc.constant(true), 10),
});

/** A request as it is sent. */
export interface Rendered {
  readonly bytes: Buffer;
  /** Its body; decoded where it is packed, and undefined where it cannot be. */
  readonly decoded: Buffer | undefined;
  readonly sentBytes: number;
  /** The body of the request that its body is, if it is one. */
  readonly carried: Buffer | undefined;
  /** What its head is rejected with, whatever its body is. */
  readonly code: string | undefined;
  /** Whether it ends where it is meant to, and means what it was meant to. */
  readonly isPlain: boolean;
  /** Nothing behind it on its connection is served. */
  readonly isLast: boolean;
}

type Seed = { readonly sent: RequestParts | Buffer; readonly code?: string };

/** @returns the rows of the wire table; the first is a plain request. */
export function seedsOf(token: string): Seed[] {
  const rejected = rejectedHeads(token).flatMap(({ code, sent }) => sent.map((one) => ({ sent: one, code })));
  return [...takenHeads(token).map((sent) => ({ sent })), ...rejected];
}

/** What is known of a row that is bytes: it has no body that is looked into. */
const WHOLE = { decoded: undefined, sentBytes: 0, carried: undefined, isPlain: true };
/** Such a row has a body all the same, whose end is its last chunk (RFC 9112, section 6.3): the connection stays. */
const FRAMED = 'Transfer-Encoding: gzip, chunked';

/** @param unique is in every event_id and payload that the body does not choose itself. */
export function render(fuzzed: FuzzRequest, seeds: readonly Seed[], token: string, unique: string): Rendered {
  const target = { port: 4000, token };
  const { body, chunks, headEdits, row } = fuzzed;
  const { sent: seed, code } = seeds[row % seeds.length]!;
  const own = Buffer.from(textOf(body.isCarrier ? PLAIN_BODY : body, unique));
  const carried = body.isCarrier ? own : undefined;
  const content = carried ? request(target, { body: carried }) : body.edits.reduce(edited, own);
  if (Buffer.isBuffer(seed)) return { ...WHOLE, bytes: seed, code, isLast: !seed.includes(FRAMED) };
  // A row with fields of its own names its coding itself, or has as many fields as there may be.
  const packing = seed.headers === undefined && seed.more === undefined ? body.packing : 'none';
  const { sent, decoded } = packed(content, packing);
  const isChunked = chunks.length > 0 && seed.headers?.['content-length'] === undefined;
  const headers = {
    ...(packing !== 'none' && { 'content-encoding': 'gzip' }),
    ...(isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': `${sent.length}` }),
    ...seed.headers,
  };
  const head = request(target, { ...seed, headers, body: '' });
  const isOld = seed.line?.endsWith('1.0') === true;
  const connection = seed.headers?.connection ?? (isOld ? 'close' : '');
  const closes = /close|upgrade/i.test(connection) || code === 'unauthorized';
  return {
    ...{ decoded, sentBytes: sent.length, carried, code },
    bytes: Buffer.concat([headEdits.reduce(edited, head), isChunked ? chunked(sent, chunks) : sent]),
    // HTTP/1.0 knows no chunks: the two sides may not agree on where it ends (RFC 9112, section 6.1).
    isPlain: headEdits.length === 0 && !(isOld && isChunked),
    isLast: closes,
  };
}

const PLAIN_BODY: Pick<FuzzBody, 'events' | 'more' | 'spaces'> = { events: [[]], more: 0, spaces: 0 };

function textOf(
  { events, more, spaces }: Pick<FuzzBody, 'events' | 'more' | 'spaces'>,
  unique: string,
): string {
  const all = [...events, ...Array.from({ length: more }, () => [])];
  const texts = all.map((fields, i) => {
    const id = `"e${i}-${unique}"`;
    const members = new Map<string, string | undefined>([
      ['event_id', id],
      ...names.slice(1, 4).map((name): Field => [name, '"fuzz"']),
      ['eot', '"2026-03-14T15:09:26.535Z"'],
      ['type', '"BALL_BOUNCE"'],
      ['confidence', '0.97'],
      ['source', '"fuzz"'],
      ['schema_version', '"1.0"'],
      ['payload', `{"x_ft":12.5,"of":${id}}`],
      ...fields,
    ]);
    const kept = [...members].filter(([, text]) => text !== undefined);
    return `{${kept.map(([name, text]) => `"${name}":${text}`).join(',')}}`;
  });
  return (texts.length === 1 ? texts[0]! : `[${texts.join(',')}]`) + ' '.repeat(spaces);
}

function packed(bytes: Buffer, packing: FuzzBody['packing']): { sent: Buffer; decoded: Buffer | undefined } {
  if (packing === 'none') return { sent: bytes, decoded: bytes };
  if (packing === 'gzip') return { sent: gzipSync(bytes), decoded: bytes };
  const some = bytes.subarray(0, 1_000);
  if (packing === 'gzip cut') return { sent: gzipSync(some).subarray(0, -9), decoded: undefined };
  if (packing === 'gzip and text')
    return { sent: Buffer.concat([gzipSync(some), Buffer.from('text')]), decoded: undefined };
  const decoded = Buffer.alloc(4 * FUZZ_BODY_LIMIT_BYTES, ' ');
  return { sent: gzipSync(decoded), decoded };
}

function edited(bytes: Buffer, [how, part, text]: Edit): Buffer {
  const at = Math.floor(part * bytes.length);
  const what = Buffer.from(text, 'latin1');
  if (how === 'end') return bytes.subarray(0, at);
  const rest = how === 'insert' ? at : at + Math.max(1, what.length);
  return Buffer.concat([
    bytes.subarray(0, at),
    how === 'remove' ? Buffer.alloc(0) : what,
    bytes.subarray(rest),
  ]);
}

function chunked(body: Buffer, sizes: readonly number[]): Buffer {
  const parts: Buffer[] = [];
  // A body of a MiB in chunks of one byte would only be slow.
  const least = Math.ceil(body.length / 2_000);
  for (let at = 0, i = 0; at < body.length; i++) {
    const chunk = body.subarray(at, at + Math.max(least, sizes[i % sizes.length]!));
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
    at += chunk.length;
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
