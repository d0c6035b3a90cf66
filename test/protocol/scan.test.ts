import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { EVENT_DEPTH_LEVELS } from '../../src/protocol/limits.ts';
import { scanJson } from '../../src/protocol/scan.ts';
import { exactValue, jsonArray, jsonObject, jsonValue, numberText } from '../arbitrary.ts';

const scan = (text: string) => scanJson(Buffer.from(text));
/** An array inside an array and so on, `depth` in all. */
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

t.test('the top and the number of elements agree with JSON.parse', async () => {
  const property = fc.property(fc.oneof(jsonArray, jsonObject, jsonValue), ({ text }) => {
    const value = JSON.parse(text);
    const top = Array.isArray(value)
      ? 'array'
      : typeof value === 'object' && value !== null
        ? 'object'
        : 'other';
    const { count, tooDeepAt, top: seen } = scan(` \n${text}\t\r\n`);
    assert.deepEqual(
      { count, tooDeepAt, seen },
      { count: top === 'array' ? value.length : 0, tooDeepAt: -1, seen: top },
    );
  });
  fc.assert(property, { numRuns: 1000 });
});

t.test('depth is refused exactly above the limit, at the element that has it', async () => {
  const property = fc.property(
    fc.array(jsonValue, { maxLength: 3 }),
    jsonValue,
    fc.integer({ min: 26, max: 36 }),
    fc.array(jsonValue, { maxLength: 3 }),
    (before, inner, wraps, after) => {
      const deep = `${'{"a":['.repeat(wraps / 2)}${inner.text}${']}'.repeat(wraps / 2)}`;
      const depth = 2 * Math.floor(wraps / 2) + inner.depth;
      const at = depth > EVENT_DEPTH_LEVELS ? before.length : -1;
      const batch = `[${[...before.map((v) => v.text), deep, ...after.map((v) => v.text)].join(',')}]`;
      return scan(batch).tooDeepAt === at && scan(deep).tooDeepAt === (at < 0 ? -1 : 0);
    },
  );
  fc.assert(property, { numRuns: 1000 });
});

t.test(
  '32 levels are scanned through, 33 are too deep, with one more for the array of a batch',
  async (t) => {
    t.equal(scan(`{"a":${nested(31)}}`).tooDeepAt, -1);
    t.equal(scan(`{"a":${nested(32)}}`).tooDeepAt, 0);
    t.equal(scan(nested(33)).tooDeepAt, -1);
    t.equal(scan(nested(34)).tooDeepAt, 0);
    t.equal(scan(`[1,{},${nested(32)}]`).tooDeepAt, -1);
    t.equal(scan(`[1,{},${nested(33)},${nested(99)}]`).tooDeepAt, 2);
  },
);

t.test('what stands in strings does not count', async (t) => {
  const noise = JSON.stringify(`${'['.repeat(99)},,,{"\\"}]1e400 9007199254740993`);
  t.strictSame(scan(`[${noise},{${noise}:${noise}}]`), {
    top: 'array',
    count: 2,
    tooDeepAt: -1,
    inexact: false,
    oddName: true,
  });
  t.equal(scan('["\\\\",1,"\\\\\\",",2]').count, 4, 'a backslash escapes the next one');
});

t.test('characters of several bytes do not disturb it', async (t) => {
  // U+5B5B, U+2C2C and U+7B22 hold the code units of [ [ , , { " and nothing of them in UTF-8.
  t.strictSame(scan('["\u5b5b\u2c2c\u7b22\u{1f3be}é",1]'), {
    top: 'array',
    count: 2,
    tooDeepAt: -1,
    inexact: false,
    oddName: false,
  });
});

t.test('an empty array has no elements, whatever white space it holds', async (t) => {
  for (const text of ['[]', ' []', '[ ]', '\r\n[\t\n ]\n'])
    t.equal(scan(text).count, 0, JSON.stringify(text));
  for (const text of ['[[]]', '[{}]', '[""]', '[ 0 ]']) t.equal(scan(text).count, 1, text);
});

t.test('it sees a number that a double cannot hold, anywhere and only there', async (t) => {
  const places = ['#', '[#]', '[1,#]', '{"a":#}', '{"a":{"b":[0,#]},"c":1}', '[#,1e2]', '[ # ]', '{"a":#\n}'];
  const property = fc.property(numberText, fc.constantFrom(...places), (number, place) => {
    const exact = exactValue(number) === exactValue(String(Number(number)));
    return scan(place.replace('#', number)).inexact === !exact;
  });
  fc.assert(property, { numRuns: 3000 });
  for (const place of places) t.equal(scan(place.replace('#', '1e400')).inexact, true, place);
});

t.test('it reads only its own part of a larger memory', async (t) => {
  const memory = Buffer.from('[[[[[9007199254740993]]]]]');
  const part = memory.subarray(5, 21);
  t.equal(part.toString(), '9007199254740993');
  t.strictSame(scanJson(part), { top: 'other', count: 0, tooDeepAt: -1, inexact: true, oddName: false });
  t.equal(scanJson(memory.subarray(5, 20)).inexact, false, '15 digits are safe');
});

t.test('no bytes make it throw or look beyond their end', async (t) => {
  for (const text of ['', ' ', '"', '"\\', '[', '{', '-', '1e', ']', '}}}', ',', '[,', '[1', '\\', '"abc']) {
    t.doesNotThrow(() => scan(text), JSON.stringify(text));
  }
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.string({ unit: fc.constantFrom(...'[]{}",\\-1e.') }).map((s) => Buffer.from(s)),
  );
  fc.assert(fc.property(bytes, (bytes) => ['array', 'object', 'other'].includes(scanJson(bytes).top)));
});

t.test('eight MiB of one byte come to an end', async (t) => {
  for (const byte of ['[', '{', '"', '\\', ',', '-', '9', ' ', ']']) {
    t.equal(typeof scanJson(Buffer.alloc(8 * 1024 * 1024, byte)).count, 'number', byte);
  }
  t.equal(scanJson(Buffer.alloc(8 * 1024 * 1024, '[')).tooDeepAt, 0);
});
