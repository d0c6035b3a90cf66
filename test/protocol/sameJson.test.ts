import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { sameJson } from '../../src/protocol/sameJson.ts';
import { canonical, jsonObject, jsonValue } from '../harness/arbitraryJson.ts';
import { eventText } from '../harness/events.ts';

/** @returns a payload as it is stored. */
const stored = (payload: string) =>
  decodeBatch(Buffer.from(eventText({ payload }, { event_id: 'e-1' })))[0]!.payload;
const areSame = (a: string, b: string) => {
  const [first, second] = [stored(a), stored(b)];
  assert.equal(sameJson(first, second), sameJson(second, first));
  return sameJson(first, second);
};

t.test('two payloads are the same if they are the same JSON value', async (t) => {
  const cases: [a: string, b: string][] = [
    ['{"a":1,"b":[true,null]}', ' { "b" : [ true , null ] , "a" : 1.0 } '],
    ['{"a":1e2}', '{"a":100}'],
    ['{"a":12345678901234}', '{"a":12345678901234.0}'],
    ['{"a":"\\u00e9"}', '{"a":"é"}'],
    ['{"a":2,"a":1}', '{"a":1}'],
    ['{"a":-0}', '{"a":-0.0e5}'],
    ['{"__proto__":{"a":1}}', '{ "__proto__": {"a":1} }'],
    ['{"id":"12345678901234567890","a":1,"b":2}', '{"b":2,"id":"12345678901234567890","a":1}'],
    ['{"n":18446744073709551615}', '{ "n" : 18446744073709551615 }'],
  ];
  for (const [a, b] of cases) t.equal(areSame(a, b), true, `${a} and ${b}`);
});

t.test('two values are not the same, however alike; nor if they cannot be compared cheaply', async (t) => {
  const cases: [a: string, b: string][] = [
    ['1', '"1"'],
    ['0', '-0'],
    ['0', 'null'],
    ['{}', '[]'],
    ['{"a":null}', '{}'],
    ['[1,2]', '[2,1]'],
    ['{"0":1}', '[1]'],
    ['"é"', '"e\u0301"'],
    ['"\\ud800"', '"\ufffd"'],
    ['18446744073709551615', '18446744073709551616'],
    ['9007199254740992', '9007199254740993'],
    ['1e-400', '0'],
    ['{"__proto__":{}}', '{"a":{}}'],
    ['18446744073709551615', '18446744073709551615.0'],
    ['{"\\\\":1,"b":2}', '{"b":2,"\\\\":1}'],
    [`{"t":"${'x'.repeat(5_000)}","b":2}`, `{"b":2,"t":"${'x'.repeat(5_000)}"}`],
    [`{"t":"${'\\n'.repeat(2_000)}","v":1}`, `{"t":"${'\\n'.repeat(2_000)}","v":2}`],
  ];
  for (const [a, b] of cases)
    t.equal(areSame(`{"v":${a}}`, `{"v":${b}}`), false, `${a} and ${b}`.slice(0, 60));
});

t.test('two payloads that compare as equal are equal JSON values', async () => {
  const alike = fc.constantFrom('0', '-0', '0.0', '1', '10e-1', '18446744073709551615', '[]', '{}');
  const values = fc.oneof(
    alike,
    jsonValue.map(({ text }) => text),
  );
  const payloads = fc.oneof(
    values.map((text) => `{"a":1,"b":${text}}`),
    values.map((text) => `{ "b":${text}, "a":1.0 }`),
  );
  const property = fc.property(payloads, payloads, (a, b) => !areSame(a, b) || canonical(a) === canonical(b));
  fc.assert(property, { numRuns: 400 });
  fc.assert(fc.property(jsonObject, ({ text }) => areSame(text, ` ${text}\n`)));
});

t.test(
  'comparing does not disturb the names of what JSON.parse reads later (nodejs/node#63785)',
  async (t) => {
    // It needs a member before it that no other test has.
    areSame('{"lens":1,"\\\\":2}', '{"\\\\":2,"lens":1}');
    t.strictSame(Object.keys(JSON.parse('{"lens":1,"\\u00e9":2}')), ['lens', 'é']);
  },
);
