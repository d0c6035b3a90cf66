import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { readBatch } from '../../src/protocol/batch.ts';
import { parseJson } from '../../src/protocol/exact.ts';
import { scanJson } from '../../src/protocol/scan.ts';
import { canonical, jsonValue } from '../arbitrary.ts';
import { event } from '../event.ts';

t.test('it reads every text to the value that the text was made of', async () => {
  fc.assert(fc.property(jsonValue, ({ text, canon }) => assert.equal(canonical(text), canon)));
});

t.test('it refuses what JSON.parse refuses, and takes what it takes', async () => {
  // Texts near to JSON: one character of a valid text changed, dropped or doubled. No backslash: JSON.parse is the judge.
  const near = fc
    .tuple(
      jsonValue,
      fc.nat(),
      fc.constantFrom('', '"', '{', ']', ',', ':', '0', '-', '.', 'e', 'n', ' ', '\u0001'),
    )
    .map(([{ text }, at, put]) => text.slice(0, at % text.length) + put + text.slice((at % text.length) + 1))
    .filter((text) => !text.includes('\\'));
  const outcome = (read: () => unknown) => {
    try {
      return { value: read() };
    } catch (error) {
      assert.ok(error instanceof SyntaxError);
      return 'refused';
    }
  };
  fc.assert(
    fc.property(near, (text) =>
      assert.deepEqual(
        // Through JSON.stringify: objects made by parseJson have no prototype.
        outcome(() => JSON.parse(JSON.stringify(parseJson(text, Number)))),
        outcome(() => JSON.parse(JSON.stringify(JSON.parse(text)))),
      ),
    ),
    { numRuns: 2_000 },
  );
});

t.test('a number reaches its maker as it was written', async (t) => {
  const sources: string[] = [];
  parseJson(' [-0, 1e400 ,{"a":12345678901234567890}] ', (source) => sources.push(source));
  t.strictSame(sources, ['-0', '1e400', '12345678901234567890']);
});

t.test('a member called __proto__ is a member, and of duplicates the last counts', async (t) => {
  const value = parseJson('{"__proto__":{"a":1},"b":1,"b":2}', Number) as Record<string, unknown>;
  t.equal(JSON.stringify(value), '{"__proto__":{"a":1},"b":2}');
});

t.test('it says where a text is broken', async (t) => {
  const cases = [
    ['{"a":1,}', 7],
    ['{"a":1', 6],
    ['"abc', 4],
    ['[1 2]', 3],
    ['["a\u0001"]', 1],
    ['nul', 0],
    ['', 0],
    ['{} x', 3],
  ] as const;
  for (const [text, at] of cases)
    t.throws(() => parseJson(text, Number), { message: `not JSON at character ${at}` });
});

t.test('a name with a backslash is noticed however it is spelled, a value with one is not', async (t) => {
  const odd = (text: string) => scanJson(Buffer.from(text)).oddName;
  for (const text of [
    '{"\\\\":1}',
    '{"a\\\\" :1}',
    '{"\\u005c":1}',
    '{"\\u005C"\n:1}',
    '[1,{"x":{"\\"\\\\":1}}]',
  ]) {
    t.ok(odd(text), text);
  }
  for (const text of ['{"a":"\\\\"}', '{"\\"":1}', '["\\\\",":"]', '{"\\u00e9":"\\u005c"}'])
    t.notOk(odd(text), text);
});

t.test('a body with such a name is read whole and does not disturb the bodies after it', async (t) => {
  const odd = readBatch(
    Buffer.from(JSON.stringify(event({ payload: '#' })).replace('"#"', '{"exact":1,"caf\\\\":2}')),
  );
  t.equal(odd[0]?.payload, '{"exact":1,"caf\\\\":2}');
  const later = JSON.stringify(event({ payload: '#' })).replace('"#"', '{"exact":1,"caf\\u00e9":3}');
  t.equal(readBatch(Buffer.from(later))[0]?.payload, '{"exact":1,"café":3}');
});
