import fc from 'fast-check';

/** Heads of requests that were good once, and every way to say how long a body is. All of it is data, to be shrunk. */

/** What is done to the header of this name, or to the request line (''). */
type Edit = readonly [name: string, how: 'remove' | 'twice' | 'replace' | 'add', value: string];

export interface FuzzHead {
  readonly edits: readonly Edit[];
  readonly framing: Framing;
  readonly lineEnd: '\r\n' | '\n';
}

export type Framing =
  | { readonly kind: 'length' }
  | {
      readonly kind: 'chunked';
      readonly sizes: readonly number[];
      readonly extension: string;
      readonly trailer: string;
    }
  | { readonly kind: 'odd length'; readonly value: string; readonly by: number }
  | { readonly kind: 'odd coding'; readonly value: string; readonly isLengthToo: boolean }
  | { readonly kind: 'odd chunks'; readonly chunks: string };

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
  Expect: ['100-continue', '100-Continue', '200-ok', ''],
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
const text = fc.string({ unit: fc.constantFrom(...'a=";\t \\', '\xff', '\0'), maxLength: 8 });

const framing: fc.Arbitrary<Framing> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Framing>({ kind: 'length' }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('chunked' as const),
      sizes: fc.array(fc.constantFrom(1, 2, 15, 16, 100, 4_096, 70_000), { minLength: 1, maxLength: 4 }),
      extension: fc.oneof({ weight: 4, arbitrary: fc.constant('') }, fc.constantFrom(';a', ';a=b', ';a="b"')),
      trailer: fc.oneof({ weight: 4, arbitrary: fc.constant('') }, fc.constantFrom('X-Odd: a\r\n')),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('odd length' as const),
      value: fc.constantFrom(
        ...[
          '',
          '',
          '',
          '-1',
          '+5',
          '0x10',
          '1e3',
          '5, 5',
          ' ',
          'a',
          '99999999999999999999',
          '9007199254740993',
          '16777216',
        ],
      ),
      by: fc.integer({ min: -3, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('odd coding' as const),
      value: fc.constantFrom(
        ...[
          'chunked',
          'Chunked',
          'chunked, chunked',
          'gzip, chunked',
          'chunked, gzip',
          'identity',
          '',
          ' chunked',
          'chunked;a',
          '\x0bchunked',
          'xchunked',
        ],
      ),
      isLengthToo: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('odd chunks' as const),
      chunks: fc.oneof(
        fc.constantFrom(
          ...[
            '0\r\n\r\n',
            '5\r\n[',
            '1\r\n[]\r\n0\r\n\r\n',
            '2\n[]\n0\n\n',
            '-1\r\n\r\n',
            'fffffffffffffffff\r\n',
            '2 \r\n[]\r\n0\r\n\r\n',
          ],
          ...[
            '0x2\r\n[]\r\n0\r\n\r\n',
            '02\r\n[]\r\n00\r\n\r\n',
            `2;${'a'.repeat(20_000)}\r\n[]\r\n0\r\n\r\n`,
            '2\r\n[]\r\n0\r\nContent-Length: 5\r\n\r\n',
          ],
        ),
        text.map((extension) => `2;${extension}\r\n[]\r\n0\r\n\r\n`),
        text.map((trailer) => `2\r\n[]\r\n0\r\n${trailer}\r\n\r\n`),
      ),
    }),
  },
);

export const fuzzHead: fc.Arbitrary<FuzzHead> = fc.record({
  edits: fc.oneof(
    { weight: 3, arbitrary: fc.constant<Edit[]>([]) },
    { weight: 2, arbitrary: fc.array(edit, { minLength: 1, maxLength: 3 }) },
  ),
  framing,
  lineEnd: fc.oneof({ weight: 30, arbitrary: fc.constant('\r\n' as const) }, fc.constant('\n' as const)),
});

/** @returns whether the request means what it would have meant without the fuzzer. */
export function isPlain({ edits, framing, lineEnd }: FuzzHead): boolean {
  return (
    edits.length === 0 && lineEnd === '\r\n' && (framing.kind === 'length' || framing.kind === 'chunked')
  );
}

/** @returns a whole request. */
export function renderRequest(head: FuzzHead, token: string, isPacked: boolean, body: Buffer): Buffer {
  const { framing, edits, lineEnd } = head;
  const lines: [name: string, line: string][] = [
    ['', 'POST /v1/events HTTP/1.1'],
    ['Host', 'Host: box'],
    ['Authorization', `Authorization: Bearer ${token}`],
    ['Content-Type', 'Content-Type: application/json'],
    ...(isPacked ? [['Content-Encoding', 'Content-Encoding: gzip'] as [string, string]] : []),
    ...framingLines(framing, body.length).map((line): [string, string] => [line.split(':')[0]!, line]),
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

function framingLines(framing: Framing, length: number): string[] {
  switch (framing.kind) {
    case 'length':
      return [`Content-Length: ${length}`];
    case 'odd length':
      return [`Content-Length: ${framing.value === '' ? Math.max(0, length + framing.by) : framing.value}`];
    case 'odd coding': {
      const coding = `Transfer-Encoding: ${framing.value}`;
      return framing.isLengthToo ? [coding, `Content-Length: ${length}`] : [coding];
    }
    default:
      return ['Transfer-Encoding: chunked'];
  }
}

function framedBody(framing: Framing, body: Buffer): Buffer {
  if (framing.kind === 'odd chunks') return Buffer.from(framing.chunks, 'latin1');
  if (framing.kind === 'odd coding') return chunked(body, [body.length || 1], '', '');
  if (framing.kind !== 'chunked') return body;
  return chunked(body, framing.sizes, framing.extension, framing.trailer);
}

function chunked(body: Buffer, sizes: readonly number[], extension: string, trailer: string): Buffer {
  const parts: Buffer[] = [];
  // A body of a MiB in chunks of one byte would only be slow.
  const least = Math.ceil(body.length / 2_000);
  for (let at = 0, i = 0; at < body.length; i++) {
    const chunk = body.subarray(at, at + Math.max(least, sizes[i % sizes.length]!));
    parts.push(Buffer.from(`${chunk.length.toString(16)}${extension}\r\n`), chunk, Buffer.from('\r\n'));
    at += chunk.length;
  }
  return Buffer.concat([...parts, Buffer.from(`0\r\n${trailer}\r\n`)]);
}
