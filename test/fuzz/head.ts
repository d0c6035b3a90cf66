import fc from 'fast-check';
import { type Framing, framedBody, framing, framingLines } from './framing.ts';
import { MANNERS, type Manner, type MannerName } from './manner.ts';

/** Heads of requests that were good once. All of it is data, to be shrunk. */

/** What is done to the header of this name, or to the request line (''). */
type Edit = readonly [name: string, how: 'remove' | 'twice' | 'replace' | 'add', value: string];

export interface FuzzHead {
  readonly manner: MannerName;
  readonly edits: readonly Edit[];
  readonly framing: Framing;
  readonly lineEnd: '\r\n' | '\n';
}

const values: Readonly<Record<string, readonly string[]>> = {
  '': [
    ...[
      'GET /v1/events HTTP/1.1',
      'HEAD /v1/events HTTP/1.1',
      'OPTIONS * HTTP/1.1',
      'post /v1/events HTTP/1.1',
    ],
    ...[
      'CONNECT a:1 HTTP/1.1',
      'PRI * HTTP/2.0',
      'BREW / HTTP/1.1',
      'POST /v1/events HTTP/1.0',
      'POST /v1/events HTTP/0.9',
    ],
    ...[
      'POST /v1/events HTTP/1.2',
      'POST /v1/events',
      'POST  /v1/events HTTP/1.1',
      'POST /v1/events/ HTTP/1.1',
    ],
    ...[
      'POST //v1/events HTTP/1.1',
      'POST /v1/%65vents HTTP/1.1',
      'POST /v1/events?a=b#c HTTP/1.1',
      'POST ? HTTP/1.1',
    ],
    ...[
      'POST http://a/v1/events HTTP/1.1',
      'POST /v1/events\xff HTTP/1.1',
      `POST /${'a'.repeat(17_000)} HTTP/1.1`,
      '\0',
      '',
    ],
  ],
  Host: ['', 'a b', 'a, b', '[::1]:4000', 'x'.repeat(300)],
  Authorization: [
    '',
    'Bearer',
    'Bearer wrong',
    'Basic YTpi',
    'Bearer a b',
    '\xff',
    `Bearer ${'a'.repeat(9_000)}`,
  ],
  'Content-Type': [
    '',
    'text/plain',
    'application/json;charset=latin1',
    'application/json; charset="utf-8"',
    ';',
    `application/json;${' '.repeat(5_000)}`,
  ],
  'Content-Encoding': ['', 'identity', 'br', 'gzip, gzip', 'GZIP', 'x'],
  Expect: ['100-continue', '100-Continue', '200-ok', '', 'foo', '100-continue, foo', '100-continue;a=b'],
  Connection: ['close', 'keep-alive', 'upgrade', 'x', 'close, keep-alive'],
  Upgrade: ['websocket', 'h2c', ''],
  'X-Odd': ['', 'a\tb', '\xff\xfe', 'a\0b', 'a\rb', 'a\x7fb', 'x'.repeat(20_000), 'a\r\n folded'],
  'X-Odd ': ['space before the colon'],
  ' X-Odd': ['space before the name'],
  '\t': ['no name'],
  Trailer: ['X-Odd'],
  'Transfer-Encoding': ['identity', 'chunked'],
  'Content-Length': ['0', '5'],
};
const edit: fc.Arbitrary<Edit> = fc
  .constantFrom(...Object.keys(values))
  .chain((name) =>
    fc.tuple(
      fc.constant(name),
      fc.constantFrom('remove', 'twice', 'replace', 'replace', 'add'),
      fc.constantFrom(...values[name]!),
    ),
  );

export const manner: fc.Arbitrary<MannerName> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<MannerName>('plain') },
  { weight: 2, arbitrary: fc.constantFrom(...(Object.keys(MANNERS) as MannerName[])) },
);

export const fuzzHead: fc.Arbitrary<FuzzHead> = fc.record({
  manner,
  edits: fc.oneof(
    { weight: 3, arbitrary: fc.constant<Edit[]>([]) },
    { weight: 2, arbitrary: fc.array(edit, { minLength: 1, maxLength: 3 }) },
  ),
  framing,
  lineEnd: fc.oneof({ weight: 30, arbitrary: fc.constant('\r\n' as const) }, fc.constant('\n' as const)),
});

export const PLAIN_HEAD: FuzzHead = {
  manner: 'plain',
  edits: [],
  framing: { kind: 'length' },
  lineEnd: '\r\n',
};

/** @returns whether the request means what it would have meant without the fuzzer. */
export function isPlain(head: FuzzHead): boolean {
  return head.edits.length === 0 && isFramed(head);
}

/** @returns whether its end is where it is meant to be, whatever else is wrong with it. */
export function isFramed({ edits, framing, lineEnd }: FuzzHead): boolean {
  const isMoved = edits.some(([name]) => ['', 'Content-Length', 'Transfer-Encoding'].includes(name));
  return !isMoved && lineEnd === '\r\n' && (framing.kind === 'length' || framing.kind === 'chunked');
}

/** @returns whether nothing that comes behind it may be served. */
export function isLast(head: FuzzHead): boolean {
  const { isLast }: Manner = MANNERS[head.manner];
  return isLast === true || isAmbiguous(head);
}

/** HTTP/1.0 knows no chunks: the two sides may not agree on where it ends (RFC 9112, section 6.1). */
export function isAmbiguous({ manner, framing }: FuzzHead): boolean {
  const { version }: Manner = MANNERS[manner];
  return version === '1.0' && framing.kind === 'chunked';
}

/** @returns what it is answered, whatever its body is; undefined if that depends on the body. */
export function answerToHead({ manner }: FuzzHead): string | undefined {
  const { answer }: Manner = MANNERS[manner];
  return answer;
}

/** @returns a whole request. */
export function renderRequest(head: FuzzHead, token: string, isPacked: boolean, body: Buffer): Buffer {
  const { framing, edits, lineEnd } = head;
  const manner: Manner = { host: 'box', ...MANNERS[head.manner] };
  const named = (line: string): [string, string] => [line.split(':')[0]!, line];
  const lines: [name: string, line: string][] = [
    ['', `POST /v1/events HTTP/${manner.version ?? '1.1'}`],
    ...(manner.host === undefined ? [] : [named(`Host: ${manner.host}`)]),
    named(`Authorization: Bearer ${token}`),
    named('Content-Type: application/json'),
    ...(isPacked ? [named('Content-Encoding: gzip')] : []),
    ...(manner.lines ?? []).map(named),
    ...framingLines(framing, body.length).map(named),
  ];
  for (const one of edits) applyEdit(lines, one);
  const text = lines.map(([, line]) => line + lineEnd).join('') + lineEnd;
  return Buffer.concat([Buffer.from(text, 'latin1'), framedBody(framing, body)]);
}

function applyEdit(lines: [name: string, line: string][], [name, how, value]: Edit): void {
  const at = lines.findIndex(([known]) => known === name);
  const line = name === '' ? value : `${name}: ${value}`;
  if (at < 0 || how === 'add') lines.splice(Math.max(1, lines.length - 1), 0, [name, line]);
  else if (how === 'replace') lines[at] = [name, line];
  else if (how === 'remove') lines.splice(at, 1);
  else lines.splice(at, 0, lines[at]!);
}
