import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { eachInfinite, isExactNumber, parseExact, sameJson } from '../../src/protocol/json.ts';
import { canonical, exactValue, jsonValue, numberText } from '../arbitrary.ts';

t.test('a number is exact where a double gives its value back, however it is spelled', async (t) => {
  const exact = [
    '0',
    '0.0',
    '0e5',
    '1',
    '-1',
    '1.0',
    '1.50',
    '0.1',
    '0.10',
    '1e2',
    '1E+2',
    '10e1',
    '100e-2',
    '-2.50e-3',
  ];
  const atTheEdge = [
    '9007199254740991',
    '9007199254740992',
    '1e22',
    '1e23',
    '123456789012345',
    '0.1234567890123456',
  ];
  const extremes = ['1.7976931348623157e308', '5e-324', '2.2250738585072014e-308', `1${'0'.repeat(300)}`];
  for (const source of [...exact, ...atTheEdge, ...extremes]) t.equal(isExactNumber(source), true, source);
});

t.test('a number is not exact where digits, range or the sign of zero would be lost', async (t) => {
  const digits = ['9007199254740993', '-9007199254740993', '18446744073709551615', '9223372036854775807'];
  const fractions = ['0.1000000000000000055511151231257827', '1.00000000000000000001', '12345678901234567.5'];
  const range = ['1e400', '-1e400', '1.8e308', `1${'0'.repeat(400)}`, '1e-400', '2e-324', '3e-324'];
  const zero = ['-0', '-0.0', '-0e0', '-0.000e-7'];
  for (const source of [...digits, ...fractions, ...range, ...zero])
    t.equal(isExactNumber(source), false, source);
});

t.test('exactness agrees with integer arithmetic for any number', async () => {
  const property = fc.property(numberText, (source) => {
    const double = Number(source);
    return isExactNumber(source) === (exactValue(source) === exactValue(String(double)));
  });
  fc.assert(property, { numRuns: 3000 });
});

t.test('any JSON comes out of parseExact and JSON.stringify as the same value', async () => {
  const property = fc.property(jsonValue, ({ text, canon }) => {
    assert.equal(canonical(JSON.stringify(parseExact(text))), canon);
  });
  fc.assert(property, { numRuns: 1000 });
});

t.test('an exact number stays a number, another one keeps its source text', async (t) => {
  t.strictSame(parseExact('[0.10, 1e2, 9007199254740991]'), [0.1, 100, 9007199254740991]);
  const sources = '[9007199254740993,-0,1.00000000000000000001,1e400,{"a":18446744073709551615}]';
  t.equal(JSON.stringify(parseExact(sources)), sources);
  t.equal(JSON.stringify(parseExact('9007199254740993')), '9007199254740993', 'at the top');
});

t.test('parseExact keeps __proto__ as a member, and of duplicates the last', async (t) => {
  const proto = '{"__proto__":18446744073709551615,"a":{"__proto__":{"b":-0}}}';
  t.equal(JSON.stringify(parseExact(proto)), proto);
  const duplicates: [text: string, last: string][] = [
    ['{"a":18446744073709551615,"a":1}', '{"a":1}'],
    ['{"a":1,"a":18446744073709551615}', '{"a":18446744073709551615}'],
    ['{"a":{"b":-0,"c":[-0]},"a":18446744073709551615}', '{"a":18446744073709551615}'],
    ['{"a":18446744073709551615,"a":{"b":-0}}', '{"a":{"b":-0}}'],
    ['{"a":[1,2,18446744073709551615],"a":[18446744073709551614]}', '{"a":[18446744073709551614]}'],
    ['{"__proto__":18446744073709551615,"__proto__":1}', '{"__proto__":1}'],
  ];
  for (const [text, last] of duplicates) t.equal(JSON.stringify(parseExact(text)), last, text);
});

t.test('two texts of one value are the same', async (t) => {
  const cases: [a: string, b: string][] = [
    ['{"a":1,"b":[true,null]}', ' { "b" : [ true , null ] , "a" : 1.0 } '],
    ['1e2', '100'],
    ['0.10', '0.1'],
    ['"\\u00e9"', '"é"'],
    ['{"a":2,"a":1}', '{"a":1}'],
    ['18446744073709551615', '1.8446744073709551615e19'],
    ['18446744073709551615', '18446744073709551615.00'],
    ['-0', '-0.0e5'],
    ['0', '0e9'],
    ['1e400', '10E399'],
    ['1e-400', '0.1e-399'],
    ['{"__proto__":{"a":1}}', '{ "__proto__": {"a":1} }'],
  ];
  for (const [a, b] of cases) t.equal(sameJson(a, b) && sameJson(b, a), true, `${a} and ${b}`);
});

t.test('two values are not the same, however alike', async (t) => {
  const cases: [a: string, b: string][] = [
    ['1', '"1"'],
    ['1', 'true'],
    ['0', '-0'],
    ['0', 'null'],
    ['0', 'false'],
    ['{}', '[]'],
    ['{}', 'null'],
    ['{"a":null}', '{}'],
    ['[1,2]', '[2,1]'],
    ['[]', '[null]'],
    ['{"0":1}', '[1]'],
    ['"é"', '"e\u0301"'],
    ['"\\ud800"', '"\ufffd"'],
    ['18446744073709551615', '18446744073709551616'],
    ['18446744073709551615', '18446744073709551614'],
    ['9007199254740992', '9007199254740993'],
    ['1e-400', '0'],
    ['1e-400', '1e-401'],
    ['18446744073709551615', '"18446744073709551615e0"'],
    ['18446744073709551615', '{"decimal":"18446744073709551615e0"}'],
    ['{"__proto__":{"a":1}}', '{}'],
    ['{"__proto__":{}}', '{"a":{}}'],
    ['{"__proto__":1}', '{"__proto__":2}'],
  ];
  for (const [a, b] of cases) t.equal(sameJson(a, b) || sameJson(b, a), false, `${a} and ${b}`);
});

t.test('sameness agrees with the canonical form for any two texts', async () => {
  const alike = fc.constantFrom(
    '0',
    '-0',
    '0.0',
    '1',
    '10e-1',
    '18446744073709551615',
    '18446744073709551616',
    '[]',
    '{}',
  );
  const texts = fc.oneof(
    alike,
    alike.map((text) => `{"a":1,"b":${text}}`),
    alike.map((text) => `{ "b":${text}, "a":1.0 }`),
    jsonValue.map(({ text }) => text),
  );
  fc.assert(
    fc.property(texts, texts, (a, b) => sameJson(a, b) === (canonical(a) === canonical(b))),
    { numRuns: 2000 },
  );
  fc.assert(fc.property(jsonValue, ({ text }) => sameJson(text, ` ${text}`)));
});

t.test('a number too large for a double is found wherever it stands', async (t) => {
  const found = (text: string, most = Number.POSITIVE_INFINITY) => {
    const paths: string[] = [];
    eachInfinite(JSON.parse(text), (names) => paths.push(names.join('.')) < most);
    return paths;
  };
  t.strictSame(found('1e400'), ['']);
  t.strictSame(found('{"a":1e400,"b":[1,-1e400,{"c":1e999}],"d":"1e400"}'), ['a', 'b.1', 'b.2.c']);
  t.strictSame(found('{"__proto__":{"x":1e400}}'), ['__proto__.x']);
  t.strictSame(found('[[1e400],1e400,1e400]', 2), ['0.0', '1'], 'no further than asked');
  t.strictSame(found('[1.7976931348623157e308,1e-400,null,true,"Infinity",{},[]]'), []);
});

t.test('hostile long numbers come to an end', async (t) => {
  const zeros = '0'.repeat(1_000_000);
  t.equal(isExactNumber(`1${zeros}`), false);
  t.equal(isExactNumber(`0.${zeros}`), true);
  t.equal(isExactNumber(`1.${zeros}1`), false);
  t.equal(isExactNumber(`1e-${zeros}1`), true, 'only an oddly spelled 0.1');
  t.equal(sameJson(`1${zeros}1`, `1${zeros}2`), false);
  t.equal(sameJson(`0.${zeros}1`, `0.${zeros}10`), true);
});
