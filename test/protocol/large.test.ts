import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { readBatch } from '../../src/protocol/batch.ts';
import { LISTED_FAULTS, PARSED_HERE_BYTES, PIECE_CHARS } from '../../src/protocol/limits.ts';
import { Problem } from '../../src/protocol/problems.ts';
import { canonical, jsonObject, jsonValue } from '../arbitrary.ts';
import { events, eventText } from '../event.ts';

/** Bodies that are parsed in pieces (pieces.ts) mean what JSON.parse says they mean. */

/** A list that is too large for one piece, of what is given. */
const list = (...members: string[]) => {
  const length = members.reduce((sum, member) => sum + member.length + 1, 0);
  return `[${Array.from({ length: PARSED_HERE_BYTES / length }, () => members.join()).join()}]`;
};
const LONG = list('0');
const long = (length: number) => '"'.padEnd(length, 'x"'.charAt(0)).concat('"');

const VALUES: Readonly<Record<string, string>> = {
  numbers: list('0.5', '-7', '1e3'),
  objects: list('{}', '{"a":1}', ' { "b" : [ ] } '),
  'strings with everything in them': list('"],{\\"}"', '"\\\\"', '"\\u005d"', '"☃"', '"a,b"'),
  'space everywhere': ` [\n${'\t1 ,\r\n'.repeat(PARSED_HERE_BYTES / 5)} 2 ] `,
  'an empty list that is large': `[${' '.repeat(PARSED_HERE_BYTES)}]`,
  'an empty object that is large': `{${'\n'.repeat(PARSED_HERE_BYTES)}}`,
  'lists in lists': `[[[${LONG}, {"a": ${LONG}}], 1], {"b": ${LONG}, "c": "d"}]`,
  'one long string': long(PARSED_HERE_BYTES),
  'a long string beside others': `{"a":1,"b":${long(PARSED_HERE_BYTES)},"c":[2]}`,
  'many members': `{${Array.from({ length: 40_000 }, (_, i) => `"m${i}":${i}`).join(' , ')}}`,
  __proto__: `{"__proto__": ${LONG}, "constructor": {"prototype": 1}}`,
  'members just as large as a piece': `[${long(PIECE_CHARS - 2)},${long(PIECE_CHARS - 1)},${long(PIECE_CHARS)},1]`,
  'odd names': `{"a\\\\b": ${LONG}, "c\\u005cd": 1}`,
};

t.test('a large payload is kept as the value that was sent, wherever it stands', (t) => {
  for (const [what, text] of Object.entries(VALUES)) {
    const wanted = JSON.parse(text);
    const [one] = readBatch(Buffer.from(eventText({ payload: `{"kmh": 7, "list": ${text}}` })));
    t.strictSame(JSON.parse(one!.payload), { kmh: 7, list: wanted }, what);
    t.notMatch(one!.payload, /[\n\t\r]/, `${what}: on one line`);
    const [other] = readBatch(Buffer.from(`[${eventText({ unknown: text })}]`));
    t.strictSame(JSON.parse(other!.extra!), { unknown: wanted }, `${what}: as an unknown field`);
  }
  t.end();
});

t.test('numbers of any length are kept digit for digit', (t) => {
  const digits = list('12345678901234567890', '-0', '0.10', '1.000000000000000000001');
  const [event] = readBatch(Buffer.from(eventText({ payload: `{"list":${digits}}` })));
  t.equal(event?.payload, `{"list":${digits.replaceAll('0.10', '0.1')}}`);
  t.end();
});

t.test('of duplicate members the last one wins, however far from each other they stand', (t) => {
  const payload = `{"x_ft":1e400,"list":${LONG},"kmh":"a","kmh":7,"list":[2],"x_ft":3,"many":${LONG},"2":0}`;
  const twice = eventText({ payload, source: LONG, unknown: '1e400' }).replace(
    /}$/,
    `,"more":${LONG},"unknown":2,"source":"b","event_id":"e"}`,
  );
  const { eventId, source, payload: kept, extra } = readBatch(Buffer.from(twice))[0]!;
  t.strictSame([eventId, source], ['e', 'b']);
  t.strictSame(JSON.parse(kept), { x_ft: 3, list: [2], kmh: 7, many: JSON.parse(LONG), 2: 0 });
  t.strictSame(JSON.parse(extra!), { more: JSON.parse(LONG), unknown: 2 });
  t.end();
});

t.test('an event is kept as the same text, alone or in a large body', (t) => {
  const size = PARSED_HERE_BYTES - 999;
  const text = eventText({ payload: `{"a":{"b":1,"7":2,"list":${LONG.slice(0, size)}0],"b":3},"3":4}` });
  const [alone] = readBatch(Buffer.from(text));
  const all = readBatch(Buffer.from(`[${text},${text.padEnd(PARSED_HERE_BYTES)},${eventText({})}]`));
  t.strictSame(all.slice(0, 2), [alone, alone]);
  t.end();
});

const BROKEN: Readonly<Record<string, string>> = {
  'a comma too many': LONG.replace(/0]$/, '0,]'),
  'two commas': LONG.replace(/0]$/, '0,,0]'),
  'a comma first': LONG.replace('[', '[,'),
  'nothing but a comma': `[${' '.repeat(PARSED_HERE_BYTES)},${' '.repeat(PARSED_HERE_BYTES)}]`,
  'a blank half': `[${LONG.slice(1, -1)},${' '.repeat(PARSED_HERE_BYTES)}]`,
  'another bracket': LONG.replace(/]$/, '}'),
  'a bracket too many': LONG.replace(/0]$/, '0]]'),
  'brackets that cross': `[${LONG.slice(1, -1)},{"a":[1}]]`,
  'a name without a value': `{"a":${LONG},"b"}`,
  'a value without a name': `{"a":${LONG},1}`,
  'a name that is no string': `{${LONG}:1}`,
  'no colon': `{"a" ${LONG}}`,
  'two values': `{"a":${LONG} ${LONG}}`,
  'space that JSON does not know': `[${LONG},\u00a0${LONG}]`,
  'a string that does not end': `[${LONG},"abc]`,
  'a line break in a string': `["a\n",${LONG}]`,
  'a number that is none': `[${LONG},01]`,
  'a word': `[${LONG},tru]`,
};

t.test('a large body that is not JSON is told so, wherever it is broken', (t) => {
  for (const [what, text] of Object.entries(BROKEN)) {
    t.throws(() => JSON.parse(text), what);
    const bodies = [
      eventText({ payload: `{"list":${text}}` }),
      eventText({ unknown: text }),
      eventText({ confidence: text }),
      `[${eventText({ payload: `{"kmh":${text}}` })}]`,
      `[${eventText({ confidence: '7' })},${eventText({ payload: text })}]`,
    ];
    for (const body of bodies) {
      t.throws(
        () => readBatch(Buffer.from(body)),
        { code: 'invalid_json', message: /at character|too early/ },
        what,
      );
    }
  }
  const event = eventText({ payload: `{"list":${LONG}}` });
  for (const body of [`${event}x`, `${event},`, `[${event}`, `[${event},]`, `[${event}]]`, `x${event}`]) {
    t.throws(() => readBatch(Buffer.from(body)), { code: 'invalid_json' }, body.slice(-10));
  }
  for (const body of [long(PARSED_HERE_BYTES), `1${' '.repeat(PARSED_HERE_BYTES)}`]) {
    t.throws(() => readBatch(Buffer.from(body)), {
      code: 'invalid_json',
      message: /one event .* or an array/,
    });
  }
  t.end();
});

function problemOf(body: string): Problem {
  try {
    readBatch(Buffer.from(body));
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('there is no problem');
}

t.test('every fault of a large batch is named, and those of its large events', (t) => {
  const bad = [
    eventText({ payload: `{"x_ft":"a","list":${LONG}}`, confidence: '7' }),
    eventText({ payload: LONG }),
    eventText({ payload: `{"list":${LONG.replace(/0]$/, '1e400]')}}` }),
    eventText({ eot: LONG }),
    '1',
    `{"list":${LONG}}`,
  ];
  const good = events(3).map((event) => JSON.stringify(event));
  const { code, members } = problemOf(`[${[...good, ...bad].join()}]`);
  t.equal(code, 'invalid_event');
  const found = members.invalid?.map(({ index, issues }) => [index, issues.map(({ path }) => path)]);
  t.strictSame(found?.slice(0, 5), [
    [3, ['confidence', 'payload.x_ft']],
    [4, ['payload']],
    [5, [`payload.list.${(LONG.length - 3) / 2}`]],
    [6, ['eot']],
    [7, ['']],
  ]);
  t.equal(found?.length, 6);
  const lengths = members.invalid?.slice(1, 4).map(({ issues: [issue] }) => issue?.message);
  t.match(lengths?.[2], `was an array of ${(LONG.length - 1) / 2}`);
  const single = problemOf(bad[0]!);
  t.strictSame(
    single.members.details?.map(({ path }) => path),
    ['confidence', 'payload.x_ft'],
  );
  t.end();
});

t.test('numbers that are too large are named where they stand, ten of them, and all are counted', (t) => {
  const list = LONG.replace('[0,0', '[0,1e400').replace(/0]$/, '-1e400]');
  const last = (LONG.length - 3) / 2;
  const { members } = problemOf(eventText({ payload: `{"a":[${list},{"b":${list}}],"kmh":1e400}`, c: list }));
  const listed = ['kmh', 'a.0.1', `a.0.${last}`, 'a.1.b.1', `a.1.b.${last}`].map((path) => `payload.${path}`);
  t.strictSame(
    members.details?.map(({ path }) => path),
    [...listed, 'c.1', `c.${last}`],
  );
  const many = problemOf(eventText({ payload: `{"a":${LONG.replaceAll('0', '1e400')},"x_ft":1}` }));
  t.strictSame(
    [many.members.details?.length, many.members.details_total],
    [LISTED_FAULTS, (LONG.length - 1) / 2],
  );
  t.end();
});

t.test('an event means the same with so much space in it that it is parsed in pieces', (t) => {
  const inserted = fc.tuple(
    fc.nat(),
    fc.constantFrom('1e400,', '"x_ft":1e400,', '"a":{},', '7,', ',', ']', '}'),
  );
  const property = fc.property(
    fc.record({ payload: jsonObject, unknown: jsonValue, confidence: fc.option(jsonValue) }),
    fc.array(inserted, { maxLength: 2 }),
    fc.array(fc.nat(), { minLength: 3, maxLength: 3 }),
    ({ payload, unknown, confidence }, edits, gaps) => {
      const fields = { payload: payload.text, unknown: unknown.text, 'payload ': payload.text };
      let text = eventText(confidence === null ? fields : { ...fields, confidence: confidence.text });
      for (const [at, what] of edits) text = insert(text, at, what);
      let spaced = text;
      for (const at of gaps) spaced = insert(spaced, at, ' '.repeat(PARSED_HERE_BYTES / 2));
      assert.deepEqual(meaning(spaced), meaning(text));
    },
  );
  fc.assert(property, { numRuns: 300 });
  t.end();
});

/** @param at counts the brackets, commas and colons; the last one closes the event. */
function insert(text: string, at: number, what: string): string {
  const ends = [...text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]/gs)]
    .filter(([token]) => token[0] !== '"')
    .map(({ index }) => index + 1);
  const place = ends[at % (ends.length - 1)]!;
  return text.slice(0, place) + what + text.slice(place);
}

/** What is read from an event, or what is wrong with it. */
function meaning(text: string): unknown {
  try {
    const [event] = readBatch(Buffer.from(text));
    return { ...event, payload: canonical(event!.payload), extra: canonical(event!.extra!) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { code, members } = error;
    return { code, faults: members.details?.map(({ path, message }) => `${path} ${message}`).sort() };
  }
}

t.test('an empty array is one with any space in it', (t) => {
  t.strictSame(readBatch(Buffer.from(`[${' '.repeat(PARSED_HERE_BYTES)}]`)), []);
  t.end();
});
