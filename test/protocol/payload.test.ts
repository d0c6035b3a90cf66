import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { PAYLOAD, PAYLOAD_FIELDS } from '../../src/protocol/eventTypes.ts';
import { payloadCells, payloadColumns } from '../../src/protocol/payload.ts';
import { jsonValue, numberText } from '../harness/arbitraryJson.ts';
import { eventText } from '../harness/events.ts';
import { parseJson } from '../harness/jsonOracle.ts';

/** A number as it was sent. */
class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What the column of a field has, by the words of the vendor's guide. */
function cellOf(value: unknown, kind: string): string | undefined {
  const isNumber = value instanceof Digits;
  if (kind === 'string' && typeof value === 'string') return value;
  if (isNumber && kind !== 'boolean') return value.text;
  if (typeof value === 'boolean' && kind !== 'number') return String(value);
  return undefined;
}

const value = fc.oneof(
  numberText,
  jsonValue.map(({ text }) => text),
  fc.constantFrom('null', 'true', 'false', '"12"', '"true"', '"\\u0031"', '[1]', '{"kmh":1}'),
);
const name = fc.constantFrom(...PAYLOAD_FIELDS, ...PAYLOAD_FIELDS, 'spin', 'x_f\\u0074');
const payload = fc
  .array(fc.tuple(name, value), { maxLength: 10 })
  .map((members) => `{${members.map(([name, text]) => `"${name}":${text}`).join(',')}}`);

t.test('each column has only values of its kind, with the digits as sent', async () => {
  const property = fc.property(payload, (text) => {
    const values = parseJson(text, (source) => new Digits(source)) as Record<string, unknown>;
    const wanted = PAYLOAD_FIELDS.map((name) => cellOf(values[name], PAYLOAD[name].kind));
    assert.deepEqual(payloadCells(text), wanted);
    const columns = payloadColumns(text);
    for (const [i, name] of PAYLOAD_FIELDS.entries()) {
      const cell = wanted[i];
      const typed = { number: Number(cell), boolean: cell === 'true', string: cell }[PAYLOAD[name].kind];
      assert.ok(Object.is(columns[name], cell === undefined ? undefined : typed), name);
    }
  });
  fc.assert(property, { numRuns: 1_000 });
});

const oddOf = (payload: string, type = 'BALL_SPEED') =>
  decodeBatch(Buffer.from(eventText({ payload }, { type })))[0]?.odd;

t.test('a field that holds another type is odd, and it is said what it holds', async (t) => {
  const cases: [payload: string, ...odd: string[]][] = [
    ['{"kmh":"91.5"}', 'kmh as string'],
    ['{"kmh":true,"is_in":1}', 'kmh as boolean', 'is_in as number'],
    ['{"player_id":7,"shot_type":false}', 'player_id as number', 'shot_type as boolean'],
    ['{"x_ft":[],"y_ft":{}}', 'x_ft as array', 'y_ft as object'],
    ['{"kmh":"1","kmh":"2"}', 'kmh as string'],
    ['{"km\\u0068":"1"}', 'kmh as string'],
  ];
  for (const [payload, ...odd] of cases) t.strictSame(oddOf(payload), odd, payload);
  t.strictSame(oddOf('{"kmh":"fast","x_ft":1}', 'BALL_BOUNCE'), ['kmh as string'], 'of a bounce too');
  const plain = ['{}', '{"kmh":null,"player_id":null}', '{"kmh":1,"spin":"x"}', '{"kmh":"1","kmh":2}'];
  for (const payload of plain) t.equal(oddOf(payload), undefined, payload);
});
