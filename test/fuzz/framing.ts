import fc from 'fast-check';

/** Every way to say how long a body is. All of it is data, to be shrunk. */

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

const text = fc.string({ unit: fc.constantFrom(...'a=";\t \\', '\xff', '\0'), maxLength: 8 });

export const framing: fc.Arbitrary<Framing> = fc.oneof(
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

export function framingLines(framing: Framing, length: number): string[] {
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

export function framedBody(framing: Framing, body: Buffer): Buffer {
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
