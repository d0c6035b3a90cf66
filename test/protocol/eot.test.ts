import fc from 'fast-check';
import t from 'tap';
import { EOT_CHARS } from '../../src/base/limits.ts';
import { eotToNs, readEot } from '../../src/protocol/eot.ts';
import { anyEot, oracleNs } from '../harness/eotOracle.ts';

t.test('known instants are reckoned to the nanosecond', async (t) => {
  const cases: [eot: string, ns: bigint][] = [
    ['1970-01-01T00:00:00.000000001Z', 1n],
    ['1969-12-31T23:59:59.999999999Z', -1n],
    ['1970-01-01T00:00:00.1234567899999Z', 123_456_789n],
    ['2026-03-14T15:09Z', 1_773_500_940_000_000_000n],
    ['2026-03-14T20:54:26,5+0545', 1_773_500_966_500_000_000n],
    ['2026-03-14T11:39:26.5-03:30', 1_773_500_966_500_000_000n],
    ['2026-03-14t15:09:26-00', 1_773_500_966_000_000_000n],
    ['20260314 160926.535+01:00', 1_773_500_966_535_000_000n],
    ['20260313T240000,000000000000z', 1_773_446_400_000_000_000n],
    ['2024-02-29T24:00:00-01:00', 1_709_254_800_000_000_000n],
    ['2016-12-31T23:59:60.25Z', 1_483_228_800_250_000_000n],
    ['1678-01-01T00:00Z', -9_214_560_000_000_000_000n],
    ['2262-01-01T23:58:59.999999999+23:59', 9_214_646_399_999_999_999n],
  ];
  for (const [eot, ns] of cases) t.equal(eotToNs(eot), ns, eot);
});

t.test('an eot in any form has the instant that a second parser finds', async (t) => {
  let valid = 0;
  const property = fc.property(anyEot, (text) => {
    const ns = eotToNs(text);
    if (ns !== undefined) valid++;
    return ns === oracleNs(text);
  });
  const tried = 4_000;
  fc.assert(property, { numRuns: tried });
  t.ok(valid > tried / 3 && valid < tried, `${valid} of ${tried} are valid`);
});

t.test('a text close to an eot is valid exactly if a second parser accepts it', async () => {
  const edit = fc.record({
    at: fc.nat({ max: 40 }),
    out: fc.nat({ max: 2 }),
    text: fc.string({ unit: fc.constantFrom(...'0123456789-+:.,TtZz ', '\u0661'), maxLength: 2 }),
  });
  const property = fc.property(anyEot, fc.array(edit, { minLength: 1, maxLength: 2 }), (eot, edits) => {
    const text = edits.reduce((all, { at, out, text }) => all.slice(0, at) + text + all.slice(at + out), eot);
    return eotToNs(text) === oracleNs(text);
  });
  fc.assert(property, { numRuns: 4_000 });
});

t.test('a text that is no eot is rejected with its fault', async (t) => {
  const cases: [fault: RegExp, eots: string][] = [
    [/must end with a time zone offset/, '2026-03-14T15:09|2026-03-14T15:09:26.535|2026-02-31T99:99'],
    [/ISO 8601/, '|Z|now|0|1773500966535|2026|2026-03-14|2026-03-14Z|2026-03-14  15:09:26Z|20260314150926Z'],
    [
      /ISO 8601/,
      '202603-14T150926Z|2026-0314T15:09:26Z|20260314T15Z| 2026-03-14T15:09:26Z|2026-03-14T15:09:26Z\n',
    ],
    [/ISO 8601/, '12026-03-14T15:09:26Z|+002026-03-14T15:09:26Z|2026-W11-6T15:09Z|2026-073T15:09:26Z'],
    [/ISO 8601/, '2026-03-14T150926Z|2026-03-14T15:09:26.Z|2026-03-14T15:09.5Z|2026-03-14T15:09:26Z[UTC]'],
    [
      /ISO 8601/,
      '2026-03-14T15:09:26+010|2026-03-14T15:09:26\u221201:00|\u0662\u0660\u0662\u0666-03-14T15:09:26Z',
    ],
    [
      /1678 to 2261/,
      '1677-12-31T15:09Z|2261-12-31T23:59:60Z|2261-12-31T24:00Z|1678-01-01T23:58:59+23:59|9999-01-01T00:00Z',
    ],
    [/calendar/, '2026-13-14T15:09Z|2026-03-00T15:09Z|2026-02-29T15:09Z|2100-02-29T15:09Z|2026-04-31T15:09Z'],
    [/23:59/, '2026-03-14T15:09+24:00|2026-03-14T15:09-24|2026-03-14T15:09+2400|2026-03-14T15:09+00:60'],
    [/time of day/, '2026-03-14T24:00:01Z|2026-03-14T15:60:00Z|2026-03-14T15:09:61Z|20260314T240060Z'],
    [/64 characters/, `2026-03-14T15:09:26.${'0'.repeat(EOT_CHARS)}Z|${'9'.repeat(1_000_000)}`],
  ];
  for (const [fault, eots] of cases) {
    for (const eot of eots.split('|')) {
      t.equal(eotToNs(eot), undefined, JSON.stringify(eot).slice(0, 80));
      t.match(readEot(eot), fault, JSON.stringify(eot).slice(0, 80));
    }
  }
});
