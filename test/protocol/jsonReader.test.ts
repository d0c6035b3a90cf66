import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { BODY_VALUES, EVENT_DEPTH_LEVELS } from '../../src/base/limits.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { EventSchema } from '../../src/protocol/eventSchema.ts';
import { ENVELOPE_FIELDS } from '../../src/protocol/eventTypes.ts';
import { jsonArray, jsonObject, jsonValue } from '../harness/arbitraryJson.ts';
import { refusal } from '../harness/decodeRefusal.ts';
import { event, eventText } from '../harness/events.ts';

/** How a body's JSON is read (jsonReader.ts), seen from decodeBatch. */

const read = (text: string) => decodeBatch(Buffer.from(text));
const payloadOf = (payload: string) => read(eventText({ payload }))[0]?.payload;

t.test('a revision is accepted only if it is an integer, and not if a double rounds it to one', async () => {
  const parts = fc.record({
    whole: fc.oneof(fc.nat().map(String), fc.bigInt({ min: 0n, max: 2n ** 54n }).map(String)),
    fraction: fc.option(fc.stringMatching(/^0{0,20}[0-9]{1,3}0{0,3}$/), { nil: '' }),
    exponent: fc.integer({ min: -20, max: 20 }),
  });
  const property = fc.property(parts, ({ whole, fraction, exponent }) => {
    const text = `${whole}${fraction && `.${fraction}`}${exponent === 0 ? '' : `e${exponent}`}`;
    const power = (digits: number) => 10n ** BigInt(Math.max(0, digits));
    const shift = exponent - fraction.length;
    const revision = revisionOf(text);
    if (revision !== undefined)
      assert.equal(BigInt(revision) * power(-shift), BigInt(`${whole}${fraction}`) * power(shift), text);
  });
  fc.assert(property, { numRuns: 400 });
});

/** @returns undefined for one that is rejected. */
function revisionOf(text: string): number | undefined {
  try {
    return read(eventText({ revision: text }))[0]?.revision;
  } catch {
    return undefined;
  }
}

/** Whether a body is rejected as no JSON, at any offset. */
function isJson(body: Buffer): boolean {
  try {
    decodeBatch(body);
    return true;
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return code !== 'invalid_json' || message.startsWith('The body must be one event');
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

t.test('it takes what JSON.parse takes and refuses what it refuses: texts with one change', async () => {
  const put = fc.constantFrom(
    ...'"{}[],:0-.eE+nt u\\/\u0001\n\u00a0é',
    '',
    'true',
    '\\u12',
    '\\ud800',
    '1e5',
    '01',
    '-',
  );
  const edit = fc.tuple(fc.nat(), fc.constantFrom(0, 1), put);
  const texts = fc.oneof(jsonValue, jsonObject, jsonArray).map(({ text }) => text);
  const property = fc.property(
    texts,
    fc.array(edit, { minLength: 1, maxLength: 2 }),
    fc.boolean(),
    (json, edits, inEvent) => {
      let text = inEvent ? eventText({ payload: json, unknown: json }) : json;
      for (const [at, drop, put] of edits) {
        const place = at % (text.length + 1);
        text = text.slice(0, place) + put + text.slice(place + drop);
      }
      // A surrogate that the change has cut from its other half would be another character in UTF-8.
      fc.pre(text.isWellFormed() && text.trim() !== '');
      assert.equal(isJson(Buffer.from(text)), parses(text), JSON.stringify(text));
    },
  );
  fc.assert(property, { numRuns: 1_000 });
});

t.test('it takes what JSON.parse takes and refuses what it refuses: any small texts', async () => {
  const near = fc.string({
    unit: fc.constantFrom(...'[]{}",:\\-+1e0.tn \n', 'é', '"a":', 'null', '[1,', '"b"'),
    minLength: 1,
  });
  const property = fc.property(near, (text) => {
    fc.pre(text.trim() !== '' && !'['.repeat(EVENT_DEPTH_LEVELS).includes(text));
    assert.equal(isJson(Buffer.from(text)), parses(text), text);
  });
  fc.assert(property, { numRuns: 1_000 });
});

t.test('bytes are kept as they came, except white space outside strings', async () => {
  // The texts have white space of all kinds.
  const property = fc.property(jsonObject, jsonObject, fc.boolean(), (payload, unknown, inArray) => {
    const body = eventText({ payload: payload.text, more: ` ${unknown.text}\t`, é: '[ 2 ]' });
    const [read1] = read(inArray ? ` [ ${body}\n] ` : body.replace('"more"', '"un\\u006bnown 1"'));
    const [bare, extra] = [tokens(payload.text), tokens(unknown.text)].map((all) => all.join(''));
    assert.equal(read1?.payload, bare);
    assert.equal(read1?.extra, `{"${inArray ? 'more' : 'un\\u006bnown 1'}":${extra},"é":[2]}`);
  });
  fc.assert(property, { numRuns: 200 });
});

/** @returns strings, brackets, marks, and everything between them: JSON text without its white space. */
function tokens(json: string): string[] {
  return json.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? [];
}

t.test('__proto__ is a member like any other', async (t) => {
  const proto = '{"__proto__":{"x_ft":"a","event_id":1},"x_ft":1}';
  t.equal(payloadOf(proto), proto);
  const [sent] = read(eventText({ payload: '{}', __proto__x: '1' }).replace('__proto__x', '__proto__'));
  t.equal(sent?.extra, '{"__proto__":1}');
  const bare = refusal(`{"__proto__":${JSON.stringify(event())}}`);
  t.equal(bare.members.details?.length, 10, 'and gives an event no fields');
});

t.test('a body with the most values is accepted, and one more is rejected', async (t) => {
  // The event, its members' values and two lists in its payload.
  const own = Object.keys(event()).length + 3;
  const holds = (values: number, element: string) =>
    eventText({
      payload: `{"a name":{"list":[${Array.from({ length: values - own }, () => element).join()}]}}`,
    });
  t.equal(read(holds(BODY_VALUES, '0')).length, 1);
  t.equal(read(`[${holds(BODY_VALUES - 1, '{}')}]`).length, 1, 'an array of events is one itself');
  for (const element of ['0', 'null', '""', '[]', '{}']) {
    for (const body of [holds(BODY_VALUES + 1, element), `[${holds(BODY_VALUES, element)}]`]) {
      const problem = refusal(body);
      t.match(problem, { code: 'body_too_large', members: { limit_values: 250_000 } }, element);
      t.match(problem.message, /more than 250000 JSON values: send fewer or smaller events/);
    }
  }
  const half = holds(BODY_VALUES / 2, '1');
  t.equal(refusal(`[${half},${half}]`).code, 'body_too_large');
  const named = Array.from({ length: 200_000 }, (_, i) => `"${i}":1`).join();
  t.equal(read(eventText({ payload: `{${named}}` })).length, 1, 'names do not count');
});

t.test('the members that are read are those of the schema', async (t) => {
  t.strictSame([...ENVELOPE_FIELDS].sort(), Object.keys(EventSchema.properties).sort());
});
